// What the page of a job asks beside the stream, and what it does.
import { useQuery } from '@tanstack/react-query';
import { api, ask, type Schemas } from '../../api/client';
import { compareInts, type Int } from '../../api/int';
import { askLines } from '../../api/raw';
import type { EventRow, JobDetail } from '../../live/types';

export type Why = Schemas['ExplainJobResponse'];
type IdPath = { params: { path: { job_id: Int } } };

const START_EVERY_MS = 2_000;
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

// The job's file in YAML; empty: it is not for this user to see.
export function useJobFile(id: Int) {
  return useQuery({
    queryKey: ['file', String(id)],
    queryFn: async () => (await ask(api.GET('/v1/jobs/{job_id}', at(id)))).file,
  });
}

// What the one who came in waited for, by phase; undefined: it is known no more.
export function usePreemptorStart(ref: Schemas['AttemptRef'] | null) {
  return useQuery({
    queryKey: ['start', String(ref?.job_id), ref?.number],
    queryFn: async () => {
      const { job } = await ask(api.GET('/v1/jobs/{job_id}', at(ref?.job_id ?? 0)));
      return job?.attempts.find((one) => one.ref?.number === ref?.number)?.start ?? null;
    },
    enabled: ref !== null,
    // Its phases come one after the other, until it runs.
    refetchInterval: (query) => (query.state.data && query.state.data.start_ms < 0 ? START_EVERY_MS : false),
  });
}

// All that is kept of a job; what comes afterwards comes by the stream.
export function useJobEvents(id: Int) {
  return useQuery({
    queryKey: ['events', String(id)],
    queryFn: ({ signal }) => askLines<EventRow>(`/v1/jobs/${id}/events`, {}, signal),
    staleTime: 0,
  });
}

// The newest first, each once.
export function joinedEvents(asked: EventRow[], live: EventRow[], id: Int): EventRow[] {
  const all = new Map(asked.map((event) => [String(event.seq), event]));
  for (const event of live) if (event.job_id === id) all.set(String(event.seq), event);
  return [...all.values()].sort((a, b) => compareInts(b.seq, a.seq));
}

// Global ranks of a node of the job.
export function ranksOfTask(job: JobDetail, index: number): number[] {
  const each = job.spec?.launcher === 'per_gpu' ? Math.max(1, job.spec.gpus_per_node) : 1;
  return Array.from({ length: each }, (_, at) => index * each + at);
}

// What would be lost if it was stopped now without a save; null: nothing.
export async function weighJob(id: Int): Promise<Schemas['JobAtRisk'] | null> {
  const { jobs } = await ask(api.GET('/v1/weigh', { params: { query: { job_ids: [id] } } }));
  return jobs[0] ?? null;
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
