// Steps a second over the steps, across attempts: each attempt's mean from what the job says of it, and, while the page
// is open, what is seen of the newest one. An attempt begins where the one before was saved: there the lines join.
import { num } from '../../api/int';
import type { JobDetail } from '../../live/types';
import { lastInterrupt, numberOf, type Attempt } from './segments';

export interface Seen {
  attempt: number;
  atMs: number;
  step: number;
}

export interface RatePoint {
  step: number;
  rate: number; // steps a second
  attempt: number;
}

const LEAST_MS = 5_000; // between two looks that count, and of a mean while the attempt goes on
const SEEN_MAX = 2_000;
const MEAN_LEAST_MS = 10_000;
const JOBS_KEPT = 8;

// Takes in what the job says now; the same list where that is nothing new.
export function look(seen: Seen[], job: JobDetail, nowMs: number): Seen[] {
  const attempt = job.attempts.at(-1);
  if (!attempt || attempt.state !== 'running' || attempt.last_step < 0) return seen;
  const last = seen.at(-1);
  const next = { attempt: numberOf(attempt), atMs: nowMs, step: num(attempt.last_step) };
  if (last && last.attempt === next.attempt && (nowMs - last.atMs < LEAST_MS || last.step === next.step)) return seen;
  return [...seen, next].slice(-SEEN_MAX);
}

const firstStep = (attempt: Attempt) => Math.max(0, num(attempt.base_step) + 1);

// When it stopped training; 0: it has not.
const stoppedAt = (attempt: Attempt) => lastInterrupt(attempt)?.requested_at_ms || attempt.ended_at_ms;

function mean(attempt: Attempt, to: number, endMs: number): RatePoint[] {
  const from = firstStep(attempt);
  const tookMs = endMs - attempt.running_at_ms;
  if (attempt.running_at_ms === 0 || to < from || tookMs <= 0) return [];
  const rate = ((to - from + 1) * 1_000) / tookMs;
  const number = numberOf(attempt);
  return [
    { step: from, rate, attempt: number },
    { step: to, rate, attempt: number },
  ];
}

// Of an attempt that was looked at twice or more: from its first step to its last one.
function ofLooks(attempt: Attempt, looks: Seen[]): RatePoint[] {
  const number = numberOf(attempt);
  const stopMs = stoppedAt(attempt);
  const last = looks.at(-1);
  const end = { attempt: number, atMs: stopMs, step: num(attempt.last_step) };
  const all = last && stopMs - last.atMs >= LEAST_MS ? [...looks, end] : looks;
  const points = all.slice(1).map((one, at): RatePoint => {
    const before = all[at] ?? one;
    return { step: one.step, rate: ((one.step - before.step) * 1_000) / (one.atMs - before.atMs), attempt: number };
  });
  const [first] = points;
  const [begin] = looks;
  if (!first || !begin) return [];
  // What was before the first look, as a mean: a short while says nothing by itself.
  const early = begin.atMs - attempt.running_at_ms < MEAN_LEAST_MS;
  const before = early ? [] : mean(attempt, begin.step, begin.atMs);
  points.unshift(...before, { ...first, step: early ? Math.min(firstStep(attempt), begin.step) : begin.step });
  const behind = points.at(-1);
  if (stopMs && behind && behind.step < end.step) points.push({ ...behind, step: end.step });
  return points;
}

export function ratesOf(job: JobDetail, seen: Seen[], nowMs: number): RatePoint[] {
  return job.attempts.flatMap((attempt) => {
    const looks = seen.filter((one) => one.attempt === numberOf(attempt));
    if (looks.length > 1) return ofLooks(attempt, looks);
    const stopMs = stoppedAt(attempt);
    if (!stopMs && nowMs - attempt.running_at_ms < LEAST_MS) return [];
    return mean(attempt, num(attempt.last_step), stopMs || nowMs);
  });
}

// What was seen of the jobs that were looked at last: it outlives the page of one.
const kept = new Map<string, Seen[]>();
const listeners = new Set<() => void>();
const NOTHING: Seen[] = [];

export const seenOf = (id: string): Seen[] => kept.get(id) ?? NOTHING;

export function subscribeSeen(call: () => void): () => void {
  listeners.add(call);
  return () => listeners.delete(call);
}

export function takeJob(job: JobDetail, nowMs: number): void {
  const id = String(job.id);
  const before = seenOf(id);
  const after = look(before, job, nowMs);
  if (after === before) return;
  kept.delete(id);
  kept.set(id, after);
  for (const old of [...kept.keys()].slice(0, -JOBS_KEPT)) kept.delete(old);
  listeners.forEach((call) => call());
}
