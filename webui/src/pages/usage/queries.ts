// What the page asks. Sums are asked for anew when a job has ended, and when the reader comes back.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, ask } from '../../api/client';
import { asApiError } from '../../api/error';
import type { Live } from '../../live/client';
import { useTopic } from '../../live/hooks';
import type { QueueRow } from '../../live/types';
import { rangeOf, type RangeWords } from './range';

export const GROUPS = ['team', 'user', 'class', 'pool', 'job'] as const;
export type Group = (typeof GROUPS)[number];

interface Filters {
  pool: string;
  team: string;
  user: string;
}

const FRESH_AFTER_MS = 3_000;
const BUSY_TRIES = 6;

// Changes when a job comes, goes or changes its state. Not everybody is told events of others' jobs.
const changesOf = (live: Live | null) => {
  if (!live?.ready) return '';
  const rows = [...live.rows.values()] as QueueRow[];
  const has = (state: string) => rows.filter((row) => row.state === state).length;
  return `${rows.length} ${String(rows.at(-1)?.id)} ${has('queued')} ${has('running')}`;
};
export function useJobChanges(): string {
  return useTopic('queue', changesOf);
}

// The scheduler reckons one report at a time for a user: they are asked one after the other here, and again where
// another tab's is under way.
let last: Promise<unknown> = Promise.resolve();
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const mine = last.then(ask, ask);
  last = mine;
  return mine;
}
export const busyRetry = {
  retry: (failures: number, thrown: unknown) => failures < BUSY_TRIES && asApiError(thrown).status === 429,
  retryDelay: 1_000,
};

// Asks for the sums anew a while after jobs have changed.
export function useFreshReports() {
  const client = useQueryClient();
  const changes = useJobChanges();
  useEffect(() => {
    if (!changes) return;
    const timer = setTimeout(() => void client.invalidateQueries({ queryKey: ['report'] }), FRESH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [changes, client]);
}

export function useHistoryReport(by: Group, words: RangeWords, filters: Filters, running: boolean) {
  const { pool, team, user } = filters;
  return useQuery({
    queryKey: ['report', by, running ? null : { ...words }, pool, team, user],
    queryFn: () => {
      const { sinceMs, untilMs } = running ? { sinceMs: 0, untilMs: 0 } : rangeOf(words, Date.now());
      const query = { by, pool, team, user, running, since_ms: sinceMs, until_ms: untilMs };
      return inTurn(() => ask(api.GET('/v1/history/report', { params: { query } })));
    },
    ...busyRetry,
    placeholderData: (before) => (before?.by === by ? before : undefined),
  });
}

// The ledger has no classes.
export function useLedger(by: Group) {
  const known = by === 'class' ? 'pool' : by;
  return useQuery({
    queryKey: ['ledger', known],
    queryFn: () => ask(api.GET('/v1/report', { params: { query: { by: known } } })),
  });
}

export function useAccounts() {
  return useQuery({ queryKey: ['accounts'], queryFn: () => ask(api.GET('/v1/accounts')) });
}

export function useLayout() {
  return useQuery({ queryKey: ['layout'], queryFn: () => ask(api.GET('/v1/layout')) });
}
