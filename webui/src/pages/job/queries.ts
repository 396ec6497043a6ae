// What the page of a job asks beside the stream, and what it does.
import { useQuery } from '@tanstack/react-query';
import { api, ask, type Schemas } from '../../api/client';
import type { Int } from '../../api/int';

export type Why = Schemas['ExplainJobResponse'];
type IdPath = { params: { path: { job_id: Int } } };

const WHY_EVERY_MS = 20_000; // each is a planning pass on a copy: one at a time for a user

const at = (id: Int): IdPath => ({ params: { path: { job_id: id } } });

// Why the job waits, who is before it, when it may start, what would start it now. `changed` asks anew.
export function useWhy(id: Int, changed: unknown) {
  return useQuery({
    queryKey: ['why', String(id), changed],
    queryFn: () => ask(api.GET('/v1/jobs/{job_id}/why', at(id))),
    refetchInterval: WHY_EVERY_MS,
    placeholderData: (before) => (before?.job?.id === id ? before : undefined),
  });
}

export const cancelJob = (id: Int, reason: string) =>
  ask(api.POST('/v1/jobs/{job_id}/cancel', { ...at(id), body: { reason } }));

export const suspendJob = (id: Int, reason: string) =>
  ask(api.POST('/v1/jobs/{job_id}/suspend', { ...at(id), body: { reason } }));

export const resumeJob = (id: Int) => ask(api.POST('/v1/jobs/{job_id}/resume', at(id)));

export const setPriority = (id: Int, priority: string, reason: string, dry_run: boolean) =>
  ask(api.POST('/v1/jobs/{job_id}/priority', { ...at(id), body: { priority, reason, dry_run } }));

export const moveJob = (id: Int, reason: string, dry_run: boolean) =>
  ask(api.POST('/v1/jobs/{job_id}/move', { ...at(id), body: { reason, dry_run } }));
