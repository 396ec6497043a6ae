// What the page asks: the pass changes with each event, so it is asked again when the queue has changed.
import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client';
import { useHasRole } from '../../api/session';
import { busyRetry, inTurn, useJobChanges } from '../usage/queries';

export const DAYS = 7;
const WEEK_MS = DAYS * 86_400_000;
const JOBS_MAX = 1_000; // of one page of the history

export function useStatus() {
  return useQuery({
    queryKey: ['status', useJobChanges()],
    queryFn: () => ask(api.GET('/v1/status')),
    placeholderData: (before) => before,
  });
}

export function useSched() {
  const operates = useHasRole('operator');
  return useQuery({
    queryKey: ['sched', useJobChanges()],
    queryFn: () => ask(api.GET('/v1/sched')),
    enabled: operates,
    placeholderData: (before) => before,
  });
}

export function useClassWaits() {
  return useQuery({
    queryKey: ['report', 'waits', 'class'],
    queryFn: () => {
      const query = { by: 'class', since_ms: Date.now() - WEEK_MS };
      return inTurn(() => ask(api.GET('/v1/history/report', { params: { query } })));
    },
    ...busyRetry,
  });
}

export function useEnded() {
  return useQuery({
    queryKey: ['ended'],
    queryFn: () => ask(api.GET('/v1/history', { params: { query: { max_age_ms: WEEK_MS, page_size: JOBS_MAX } } })),
  });
}

export function usePolicy() {
  return useQuery({ queryKey: ['policy'], queryFn: () => ask(api.GET('/v1/policy')) });
}
