// What the logs' page asks beside the logs themselves: lines that hold a word, found where the logs lie.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api, ask, type Schemas } from '../../api/client';
import type { Int } from '../../api/int';

export type Found = Schemas['SearchLogResponse'];

export interface Search {
  job: Int;
  attempt: number; // 0: the newest that has started
  rank?: number; // none: all
  word: string;
  ignoreCase: boolean;
  newestFirst: boolean;
  context?: number;
  lines?: number;
}

const LINES = 200;
const TRACEBACK = 'Traceback (most recent call last)';
const TRACEBACK_PAGES = 4;

function searchPage(search: Search, page_token: string, signal: AbortSignal): Promise<Found> {
  const { job, attempt, rank, word, ignoreCase, newestFirst, context, lines = LINES } = search;
  const query = {
    attempt: attempt || undefined,
    rank,
    word,
    ignore_case: ignoreCase || undefined,
    newest_first: newestFirst || undefined,
    context,
    page_size: lines,
    page_token,
  };
  return ask(api.GET('/v1/jobs/{job_id}/log/search', { params: { path: { job_id: job }, query }, signal }));
}

// Pages are asked for one behind the other; one may have no line, and more may come all the same.
export function useSearch(search: Search) {
  return useInfiniteQuery({
    queryKey: ['log search', { ...search, job: String(search.job) }],
    queryFn: ({ pageParam, signal }) => searchPage(search, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.next_page_token || undefined,
    enabled: search.word !== '',
    refetchOnWindowFocus: false,
    staleTime: Infinity,
    gcTime: 60_000,
  });
}

export interface FirstTraceback {
  rank: number;
  attempt: number;
  offset: number;
  error: string; // its last line: what was raised
}

// The last line of the traceback: the first that is not indented behind its head.
export function errorLineOf(lines: { text: string }[]): string {
  const rest = lines.slice(1).filter((line) => line.text.trim() !== '');
  return rest.find((line) => !/^\s/.test(line.text))?.text ?? '';
}

async function findTraceback(job: Int, attempt: number, rank: number | undefined, signal: AbortSignal) {
  const search: Search = { job, attempt, rank, word: TRACEBACK, ignoreCase: false, newestFirst: false };
  let token = '';
  for (let page = 0; page < TRACEBACK_PAGES; page++) {
    const found = await searchPage({ ...search, context: 20, lines: 1 }, token, signal);
    const at = found.lines.findIndex((line) => line.match);
    const head = found.lines[at];
    if (head) {
      const own = found.lines.slice(at).filter((line) => line.rank === head.rank);
      return { rank: head.rank, attempt: found.attempt, offset: Number(head.offset), error: errorLineOf(own) };
    }
    token = found.next_page_token;
    if (!token) break;
  }
  return null;
}

// Of the rank that failed first, else of the first rank that has one. It reads whole logs, so it is done when `wanted`.
export function useFirstTraceback(job: Int, attempt: number, failedRank: number, wanted: boolean) {
  return useQuery<FirstTraceback | null>({
    queryKey: ['traceback', String(job), attempt, failedRank],
    queryFn: async ({ signal }) =>
      (failedRank >= 0 && (await findTraceback(job, attempt, failedRank, signal))) ||
      findTraceback(job, attempt, undefined, signal),
    enabled: wanted && attempt > 0,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
}
