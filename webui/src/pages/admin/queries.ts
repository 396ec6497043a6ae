import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api, ask, type Schemas } from '../../api/client';
import type { Int } from '../../api/int';
import { queryClient } from '../../api/query';
import { isDone, type Step } from '../../api/step';
import { useEvents } from '../../live/hooks';
import { useEffect } from 'react';
import type { Change } from './kinds';
import { requestOf, type Draft, type Reservation } from './reservation';

const AUDIT_PAGE = 200;

export const changeRows = (change: Change, step: Step) =>
  ask(api.POST('/v1/rows', { body: { changes: [change], ...step } }));

export async function putRow(change: Change, step: Step): Promise<void> {
  await changeRows(change, step);
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['accounts'] }),
    queryClient.invalidateQueries({ queryKey: ['layout'] }),
  ]);
}

const TELLS: Record<string, string[]> = {
  user_changed: ['accounts'],
  team_changed: ['accounts'],
  quota_changed: ['accounts'],
  layout_changed: ['layout'],
  reservation_set: ['reservations'],
  reservation_removed: ['reservations'],
  reservation_began: ['reservations'],
  reservation_ended: ['reservations'],
  policy_reloaded: ['policy'],
};

// What somebody else has changed is asked for anew.
export function useFreshRows() {
  const last = useEvents().findLast((event) => event.kind in TELLS);
  useEffect(() => {
    if (last) void queryClient.invalidateQueries({ queryKey: TELLS[last.kind] });
  }, [last]);
}

export function useTokens() {
  return useQuery({
    queryKey: ['tokens'],
    queryFn: () => ask(api.GET('/v1/tokens', { params: { query: { all: true } } })),
  });
}

export const createToken = (body: { user: string; scope: string; ttl_ms: number; note: string }) =>
  ask(api.POST('/v1/tokens', { body }));

export const revokeToken = (id: string) => ask(api.DELETE('/v1/tokens/{id}', { params: { path: { id } } }));

export const refreshTokens = () => queryClient.invalidateQueries({ queryKey: ['tokens'] });

// Page by page, the oldest first.
export function useAudit(user: string, sinceMs: number) {
  return useInfiniteQuery({
    queryKey: ['audit', user, sinceMs],
    queryFn: ({ pageParam }) =>
      ask(
        api.GET('/v1/audit', { params: { query: { user, since_ms: sinceMs, after: pageParam, limit: AUDIT_PAGE } } }),
      ),
    initialPageParam: 0 as Int,
    getNextPageParam: (page: Schemas['ListAuditResponse']) => (page.more ? page.entries.at(-1)?.seq : undefined),
  });
}

export const verifyAudit = () => ask(api.GET('/v1/audit/verify'));
export const reloadPolicy = (dry_run: boolean) => ask(api.POST('/v1/policy/reload', { body: { dry_run } }));

export async function setReservation(draft: Draft, before: Reservation | null, step: Step) {
  const reservation = requestOf(draft, before, Date.now());
  const answer = await ask(api.POST('/v1/reservations', { body: { reservation, ...step } }));
  if (isDone(step)) await queryClient.invalidateQueries({ queryKey: ['reservations'] });
  return answer;
}

export async function removeReservation(name: string, step: Step) {
  const answer = await ask(api.DELETE('/v1/reservations/{name}', { params: { path: { name }, query: step } }));
  if (isDone(step)) await queryClient.invalidateQueries({ queryKey: ['reservations'] });
  return answer;
}
