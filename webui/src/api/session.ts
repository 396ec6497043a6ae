// Who looks at the page: the session's cookie is the browser's, its CSRF token is ours.
import { useSyncExternalStore } from 'react';
import { api, ask, onSignedOut, setCsrf, type Schemas } from './client';
import { ApiError, asApiError } from './error';
import { writeJson } from './parse';
import { queryClient } from './query';

export type Role = 'viewer' | 'user' | 'operator' | 'admin';
export type Session = Schemas['WhoAmIResponse'] & { csrf: string };
export type SessionState =
  | { phase: 'asking' }
  | { phase: 'in'; session: Session }
  | { phase: 'out'; error: ApiError | null }
  | { phase: 'failed'; error: ApiError };

const ROLES: Role[] = ['viewer', 'user', 'operator', 'admin'];
const CODE = /^#code=([0-9a-fA-F]+)$/;
const listeners = new Set<() => void>();
const tabs = new BroadcastChannel('glim-session'); // who signs in or out does so in all tabs
let state: SessionState = { phase: 'asking' };

function set(next: SessionState): void {
  state = next;
  setCsrf(next.phase === 'in' ? next.session.csrf : '');
  listeners.forEach((call) => call());
}

function subscribe(call: () => void): () => void {
  listeners.add(call);
  return () => listeners.delete(call);
}

export function useSessionState(): SessionState {
  return useSyncExternalStore(subscribe, () => state);
}

// Of whoever is signed in; pages are shown to nobody else.
export function useSession(): Session {
  const now = useSessionState();
  if (now.phase !== 'in') throw new Error('nobody is signed in');
  return now.session;
}

// Whether the session's role is at least this one. The scheduler decides; this is for what the page offers.
export function useHasRole(least: Role): boolean {
  return ROLES.indexOf(useSession().role as Role) >= ROLES.indexOf(least);
}

async function look(): Promise<void> {
  try {
    set({ phase: 'in', session: await ask(api.GET('/v1/session')) });
  } catch (thrown) {
    const error = asApiError(thrown);
    set(error.isSignedOut ? { phase: 'out', error: null } : { phase: 'failed', error });
  }
}

// Throws an ApiError: the code counts no more.
export async function signIn(code: string): Promise<void> {
  await ask(api.POST('/v1/session', { body: { code: code.trim() } }));
  queryClient.clear();
  await look();
  tabs.postMessage('changed');
}

export async function signOut(): Promise<void> {
  await ask(api.DELETE('/v1/session'));
  queryClient.clear();
  set({ phase: 'out', error: null });
  tabs.postMessage('changed');
}

// Whether the session still counts, and for what: rights may have changed. That nobody answers says nothing about it.
export async function checkSession(): Promise<void> {
  const session = await ask(api.GET('/v1/session')).catch(() => null);
  if (session && state.phase === 'in' && writeJson(session) !== writeJson(state.session)) set({ phase: 'in', session });
}

// A code in the address is used and taken out of it at once; false: there is none.
async function takeCode(): Promise<boolean> {
  const code = CODE.exec(window.location.hash)?.[1];
  if (!code) return false;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  try {
    await signIn(code);
  } catch (thrown) {
    set({ phase: 'out', error: asApiError(thrown) });
  }
  return true;
}

// At the start of the page. An address with a code that is opened in this tab later on is no new page for the browser.
export async function beginSession(): Promise<void> {
  onSignedOut((error) => state.phase === 'in' && set({ phase: 'out', error }));
  window.addEventListener('hashchange', () => void takeCode());
  tabs.onmessage = () => void look();
  if (!(await takeCode())) await look();
}

export function retrySession(): void {
  set({ phase: 'asking' });
  void look();
}
