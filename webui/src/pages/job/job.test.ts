import { describe, expect, it } from 'vitest';
import type { JobDetail } from '../../live/types';
import { joinedEvents, ranksOfTask } from './queries';
import { look, ratesOf } from './rates';
import { interruptsOf, segmentsOf, stepsLostOf, ticksOf, waitsSince, type Agreement, type Attempt } from './segments';

const agreement = {
  id: 1,
  state: 'ended',
  requested_at_ms: 60_000,
  times: { notify_ms: 100, agree_ms: 20, save_ms: 1_900, leave_ms: 30, release_ms: 50 },
} as Agreement;

const attempt = (number: number, more: object = {}) =>
  ({
    ref: { job_id: 7, number },
    state: 'ended',
    claimed_at_ms: 10_000,
    started_at_ms: 12_000,
    running_at_ms: 20_000,
    ended_at_ms: 62_100,
    base_step: -1,
    last_step: 79,
    start: { queued_ms: 5_000 },
    agreements: [agreement],
    ...more,
  }) as unknown as Attempt;

describe('bars', () => {
  it('follow each other from the queue to the last node', () => {
    expect(segmentsOf(attempt(1)).map(({ phase, fromMs, toMs }) => [phase, fromMs, toMs])).toEqual([
      ['queued', 5_000, 10_000],
      ['claimed', 10_000, 12_000],
      ['starting', 12_000, 20_000],
      ['running', 20_000, 60_000],
      ['notified', 60_000, 60_120],
      ['saving', 60_120, 62_020],
      ['leaving', 62_020, 62_100],
    ]);
  });
  it('go on while the attempt does', () => {
    const live = attempt(1, { ended_at_ms: 0, agreements: [] });
    expect(segmentsOf(live).at(-1)).toEqual({ phase: 'running', fromMs: 20_000, toMs: 0 });
    const asked = { ...agreement, state: 'notifying', times: { notify_ms: -1, agree_ms: -1, save_ms: -1 } };
    const leaves = attempt(1, { ended_at_ms: 0, agreements: [asked] });
    expect(segmentsOf(leaves).at(-1)).toEqual({ phase: 'notified', fromMs: 60_000, toMs: 0 });
  });
  it('know no interrupt of one that was withdrawn', () => {
    const went = attempt(1, { agreements: [{ ...agreement, state: 'withdrawn' }] });
    expect(segmentsOf(went).at(-1)).toEqual({ phase: 'running', fromMs: 20_000, toMs: 62_100 });
  });
  it('have ticks at whole steps of the clock', () => {
    expect(ticksOf(1_500, 61_000)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    for (const span of [1, 3_000, 7_200_000, 40 * 86_400_000]) expect(ticksOf(0, span).length).toBeLessThan(9);
  });
});

const jobOf = (...attempts: Attempt[]) =>
  ({ id: 7, state: 'running', submitted_at_ms: 1_000, attempts }) as unknown as JobDetail;

describe('a job', () => {
  it('went on with the next attempt after an interrupt', () => {
    const [first, second] = interruptsOf(jobOf(attempt(1), attempt(2)));
    expect(first?.next?.ref?.number).toBe(2);
    expect(second?.next).toBeNull();
    expect(waitsSince({ ...jobOf(attempt(1)), state: 'queued' } as JobDetail)).toBe(62_100);
  });
  it('has ranks by its launcher', () => {
    const job = { spec: { launcher: 'per_gpu', gpus_per_node: 4 } } as JobDetail;
    expect(ranksOfTask(job, 2)).toEqual([8, 9, 10, 11]);
  });
  it('has each event once, the newest first', () => {
    const event = (seq: number, job_id = 7) => ({ seq, job_id }) as never;
    const all = joinedEvents([event(1), event(2)], [event(2), event(3), event(4, 8)], 7);
    expect(all.map((one) => one.seq)).toEqual([3, 2, 1]);
  });
});

describe('the steps that an attempt lost', () => {
  it('are known of an attempt that has reported some', () => {
    expect(stepsLostOf(attempt(1, { steps_lost: 3 }))).toBe(3);
    expect(stepsLostOf(attempt(1, { base_step: 5, last_step: -1, durable_step: -1, steps_lost: 0 }))).toBe(0);
  });
  it('are not known of one that has told none', () => {
    expect(stepsLostOf(attempt(1, { base_step: -1, last_step: -1, durable_step: -1, steps_lost: 0 }))).toBe(-1);
  });
});

describe('the rate', () => {
  it('is the mean of an attempt until it was asked to leave', () => {
    expect(ratesOf(jobOf(attempt(1)), [], 0)).toEqual([
      { step: 0, rate: 2, attempt: 1 },
      { step: 79, rate: 2, attempt: 1 },
    ]);
  });
  it('goes on where the next one was resumed, with what is seen', () => {
    const live = attempt(2, { state: 'running', running_at_ms: 70_000, ended_at_ms: 0, base_step: 79, last_step: 90 });
    const job = jobOf(attempt(1), live);
    let seen = look([], job, 71_000);
    expect(look(seen, job, 72_000)).toBe(seen);
    seen = look(seen, jobOf(attempt(1), { ...live, last_step: 100 }), 76_000);
    expect(ratesOf(job, seen, 76_000).slice(2)).toEqual([
      { step: 80, rate: 2, attempt: 2 },
      { step: 100, rate: 2, attempt: 2 },
    ]);
  });
});

describe('the rate of an attempt that was looked at', () => {
  it('reaches from its first step to its last one', () => {
    const seen = [0, 1, 2].map((at) => ({ attempt: 1, atMs: 40_000 + 5_000 * at, step: 40 + 10 * at }));
    const points = ratesOf(jobOf(attempt(1)), seen, 0);
    expect(points.map(({ step, rate }) => [step, Math.round(100 * rate) / 100])).toEqual([
      [0, 2.05],
      [40, 2.05],
      [40, 2],
      [50, 2],
      [60, 2],
      [79, 1.9],
    ]);
  });
});
