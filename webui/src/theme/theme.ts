// Light, dark, or as the system has it: kept in the browser, set on the root element.
import { useSyncExternalStore } from 'react';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'glim-theme';
const listeners = new Set<() => void>();

function kept(): Theme {
  const value = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === value) ?? 'system';
}

let theme = kept();

export function applyTheme(): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(next: Theme): void {
  theme = next;
  localStorage.setItem(KEY, next);
  applyTheme();
  listeners.forEach((call) => call());
}

function subscribe(call: () => void): () => void {
  listeners.add(call);
  return () => listeners.delete(call);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

const darkSystem = () => window.matchMedia('(prefers-color-scheme: dark)');

function subscribeDark(call: () => void): () => void {
  const query = darkSystem();
  query.addEventListener('change', call);
  const stop = subscribe(call);
  return () => {
    query.removeEventListener('change', call);
    stop();
  };
}

// What is shown now: for what is painted on a canvas, which reads the colours anew when this changes.
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribeDark, () => theme === 'dark' || (theme === 'system' && darkSystem().matches));
}

// The colour of a token as it is now: `colourOf('--state-run')` is `rgb(0, 114, 178)`.
export function colourOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
