// Answers that are no documents: logs as they are, events one a line. Throws an ApiError like `ask`.
import { asApiError, errorOf, type ApiError } from './error';
import { parseJson } from './parse';

export type Query = Record<string, string | number | bigint | boolean | undefined>;

export function pathWith(path: string, query: Query): string {
  const words = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(words.map(([name, value]) => [name, String(value)]));
  return words.length > 0 ? `${path}?${text}` : path;
}

export async function askRaw(path: string, query: Query, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(pathWith(path, query), { signal });
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw asApiError(thrown);
  }
  if (answer.ok) return answer;
  throw await refusalOf(answer);
}

async function refusalOf(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  const isJson = answer.headers.get('Content-Type')?.startsWith('application/json');
  return errorOf(answer.status, isJson ? parseJson(text) : undefined);
}

// One document a line; a last line that is an error is thrown.
export async function askLines<T extends object>(path: string, query: Query, signal?: AbortSignal): Promise<T[]> {
  const answer = await askRaw(path, query, signal);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  const documents = lines.map((line) => parseJson<T & { error?: unknown }>(line));
  const last = documents.at(-1);
  if (last?.error) throw errorOf(answer.status, last);
  return documents;
}
