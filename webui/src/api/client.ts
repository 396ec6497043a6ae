// The one client of the HTTP API. Use: `const { job } = await ask(api.GET('/v1/jobs/{job_id}', { params }))`.
import createClient from 'openapi-fetch';
import { ApiError, asApiError, errorOf } from './error';
import { parseJson, writeJson } from './parse';
import type { components, paths } from './schema.gen';

export type Schemas = components['schemas'];

let csrf = '';
const signedOut = new Set<(why: ApiError) => void>();
// openapi-fetch reads bodies with JSON.parse, which rounds: what was read without loss is kept beside the answer.
const documents = new WeakMap<Response, unknown>();

export function setCsrf(token: string): void {
  csrf = token;
}

// Called whenever the scheduler says that the session counts no more.
export function onSignedOut(call: (why: ApiError) => void): () => void {
  signedOut.add(call);
  return () => signedOut.delete(call);
}

async function send(request: Request): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') request.headers.set('X-Glim-Csrf', csrf);
  const answer = await fetch(request);
  const isJson = answer.headers.get('Content-Type')?.startsWith('application/json');
  if (!isJson || answer.status === 204) return answer;
  const document = parseJson(await answer.text());
  const copy = new Response('null', { status: answer.status, headers: { 'Content-Type': 'application/json' } });
  documents.set(copy, document);
  return copy;
}

export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: send, bodySerializer: writeJson });

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

// The document that was asked for; throws an ApiError.
export async function ask<T>(asked: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await asked;
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw asApiError(thrown);
  }
  const { data, response } = answer;
  if (response.ok) return (documents.has(response) ? documents.get(response) : data) as T;
  const error = errorOf(response.status, documents.get(response) ?? answer.error);
  if (error.isSignedOut) signedOut.forEach((call) => call(error));
  throw error;
}

export { ApiError };
