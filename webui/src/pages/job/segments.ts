// What a job's attempts are in time, for the bars: pure.
import type { Schemas } from '../../api/client';
import type { JobDetail } from '../../live/types';

export type Attempt = Schemas['Attempt'];
export type Agreement = Schemas['Agreement'];

export const PHASES = ['queued', 'claimed', 'starting', 'running', 'notified', 'saving', 'leaving'] as const;
export type Phase = (typeof PHASES)[number];

export interface Segment {
  phase: Phase;
  fromMs: number;
  toMs: number; // 0: it goes on
}

export interface Interrupt {
  attempt: Attempt;
  agreement: Agreement;
  // The job went on: with this attempt, because it was withdrawn, or with the next one.
  next: Attempt | null;
}

export const numberOf = (attempt: Attempt): number => attempt.ref?.number ?? 0;

// -1 of an attempt that has reported no step: nobody knows what it lost.
export function stepsLostOf(attempt: Attempt): Attempt['steps_lost'] {
  const reports = [attempt.base_step, attempt.last_step, attempt.durable_step].some((step) => step >= 0);
  return reports ? attempt.steps_lost : -1;
}

const positive = (ms: number) => Math.max(0, ms);

// The interrupt that ended the attempt, or is about to.
export function lastInterrupt(attempt: Attempt): Agreement | null {
  return attempt.agreements.findLast((one) => one.state !== 'withdrawn') ?? null;
}

// `endMs` of the attempt or 0; phases follow each other, and one that did not happen is left out.
function stopping(agreement: Agreement, endMs: number): Segment[] {
  const { requested_at_ms, times } = agreement;
  const segments: Segment[] = [];
  let at = requested_at_ms;
  const add = (phase: Phase, ms: number) => {
    if (ms < 0) return;
    segments.push({ phase, fromMs: at, toMs: at + ms });
    at += ms;
  };
  const { notify_ms = -1, agree_ms = -1, save_ms = -1 } = times ?? {};
  add('notified', notify_ms < 0 && agree_ms < 0 ? -1 : positive(notify_ms) + positive(agree_ms));
  add('saving', save_ms);
  const rest: Phase =
    agreement.state === 'ended' || save_ms >= 0 ? 'leaving' : at === requested_at_ms ? 'notified' : 'saving';
  if (endMs === 0 || endMs > at) segments.push({ phase: rest, fromMs: at, toMs: endMs });
  return segments;
}

// From the queue to the last node's release.
export function segmentsOf(attempt: Attempt): Segment[] {
  const { claimed_at_ms, started_at_ms, running_at_ms, ended_at_ms, start } = attempt;
  const interrupt = lastInterrupt(attempt);
  const stopMs = interrupt?.requested_at_ms ?? 0;
  const over = (ms: number) => ms || stopMs || ended_at_ms;
  const segments: Segment[] = [];
  const add = (phase: Phase, fromMs: number, toMs: number) => {
    if (fromMs > 0 && (toMs === 0 || toMs > fromMs)) segments.push({ phase, fromMs, toMs });
  };
  const waited = start?.queued_ms ?? -1;
  if (waited > 0) add('queued', claimed_at_ms - waited, claimed_at_ms);
  add('claimed', claimed_at_ms, over(started_at_ms));
  add('starting', started_at_ms, over(running_at_ms));
  add('running', running_at_ms, stopMs || ended_at_ms);
  if (interrupt) segments.push(...stopping(interrupt, ended_at_ms));
  return segments;
}

// All, in their order. A queued job waits for the attempt that is to come.
export function interruptsOf(job: JobDetail): Interrupt[] {
  return job.attempts.flatMap((attempt, at) =>
    attempt.agreements.map((agreement) => ({
      attempt,
      agreement,
      next: agreement.state === 'withdrawn' ? null : (job.attempts[at + 1] ?? null),
    })),
  );
}

// From when the queue is waited in now; 0: it is not.
export function waitsSince(job: JobDetail): number {
  if (job.state !== 'queued' && job.state !== 'held') return 0;
  return job.attempts.at(-1)?.ended_at_ms || job.submitted_at_ms;
}

// Where ticks of an axis stand: whole steps of the clock, some six of them.
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const TICKS = 6;

export function ticksOf(fromMs: number, toMs: number): number[] {
  const span = Math.max(1, toMs - fromMs);
  const days = Math.ceil(span / 86_400_000 / TICKS) * 86_400;
  const step = 1_000 * (STEPS_S.find((seconds) => span / (seconds * 1_000) <= TICKS) ?? days);
  const zone = new Date(fromMs).getTimezoneOffset() * 60_000; // whole days of the reader's zone
  const first = Math.ceil((fromMs - zone) / step) * step + zone;
  const ticks: number[] = [];
  for (let at = first; at <= toMs; at += step) ticks.push(at);
  return ticks;
}
