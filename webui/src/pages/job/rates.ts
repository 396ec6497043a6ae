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

const LEAST_MS = 5_000; // between two looks that count
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

function mean(attempt: Attempt, nowMs: number): RatePoint[] {
  const { running_at_ms, ended_at_ms } = attempt;
  const endMs = lastInterrupt(attempt)?.requested_at_ms || ended_at_ms || nowMs;
  const from = Math.max(0, num(attempt.base_step) + 1);
  const to = num(attempt.last_step);
  if (running_at_ms === 0 || to < from || endMs <= running_at_ms) return [];
  const rate = ((to - from + 1) * 1_000) / (endMs - running_at_ms);
  const number = numberOf(attempt);
  return [
    { step: from, rate, attempt: number },
    { step: to, rate, attempt: number },
  ];
}

export function ratesOf(job: JobDetail, seen: Seen[], nowMs: number): RatePoint[] {
  return job.attempts.flatMap((attempt) => {
    const number = numberOf(attempt);
    const own = seen.filter((one) => one.attempt === number);
    const points = own.slice(1).flatMap((one, at): RatePoint[] => {
      const before = own[at];
      if (!before || one.step <= before.step) return [];
      const rate = ((one.step - before.step) * 1_000) / (one.atMs - before.atMs);
      const end = { step: one.step, rate, attempt: number };
      return at === 0 ? [{ ...end, step: before.step }, end] : [end];
    });
    const first = own[0];
    if (points.length === 0 || !first) return mean(attempt, nowMs);
    // What was before the first look, as a mean: a short while says nothing.
    if (first.atMs - attempt.running_at_ms < MEAN_LEAST_MS) return points;
    return [...mean({ ...attempt, last_step: first.step, agreements: [], ended_at_ms: first.atMs }, nowMs), ...points];
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
