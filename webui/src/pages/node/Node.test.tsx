import { beforeAll, describe, expect, it } from 'vitest';
import type { EventRow } from '../../live/types';
import i18n, { type TFunction } from 'i18next';
import { actsOf } from './actions';
import { adviceOf, askedAgainAt, findingOf, measuredOf, rateOf } from './finding';
import words from './words.en.json';
import { holdersOf, merged, sinceOf, type Sample } from './history';

function event(seq: number, kind: string, node = 'n1'): EventRow {
  return { seq, kind, node, happened_at_ms: seq * 1_000, job_id: 0, attempt: 0, message: '' } as EventRow;
}

describe('the history of a node', () => {
  it('has each event once, the newest first, and those of the node alone', () => {
    const asked = [event(1, 'node_registered'), event(3, 'node_silent')];
    const live = [event(3, 'node_silent'), event(4, 'node_lost', 'n2'), event(5, 'node_ready')];
    expect(merged(asked, live, 'n1').map(({ seq }) => seq)).toEqual([5, 3, 1]);
  });

  it('says since when the node is as it is', () => {
    expect(sinceOf([event(5, 'node_relabelled'), event(4, 'node_ready'), event(1, 'node_silent')])).toBe(4_000);
    expect(sinceOf([])).toBe(0);
  });

  it('makes spans of samples', () => {
    const sample = (atMs: number, job: number | null, complete = true): Sample => ({
      atMs,
      job,
      complete,
      state: 'ready',
    });
    const samples = [
      sample(0, null, false),
      sample(10, null),
      sample(20, 7),
      sample(30, 7),
      sample(40, null),
      sample(50, 8),
    ];
    expect(holdersOf(samples)).toEqual([
      { fromMs: 40, toMs: 50, job: null, complete: true, state: 'ready' },
      { fromMs: 20, toMs: 40, job: 7, complete: true, state: 'ready' },
      { fromMs: 10, toMs: 20, job: null, complete: true, state: 'ready' },
      { fromMs: 0, toMs: 10, job: null, complete: false, state: 'ready' },
    ]);
    expect(holdersOf([])).toEqual([]);
  });
});

describe('what is offered', () => {
  const cordon = { by: 'oscar', reason: '', since_ms: 1, until_ms: 0, drain: false, deadline_ms: 0, drained: false };
  it('follows from the state', () => {
    expect(actsOf({ state: 'ready', cordon: null })).toEqual(['cordon', 'drain', 'validate']);
    expect(actsOf({ state: 'ready', cordon })).toEqual(['drain', 'uncordon', 'validate']);
    expect(actsOf({ state: 'ready', cordon: { ...cordon, drain: true } })).toEqual(['uncordon', 'validate']);
    expect(actsOf({ state: 'lost', cordon: null })).toEqual(['return', 'cordon', 'drain', 'validate']);
  });
});

describe('what health checks found', () => {
  const t = ((key: string, options?: object) => String(i18n.t(key, { ...options }))) as unknown as TFunction;
  beforeAll(() => i18n.init({ lng: 'en', resources: { en: { node: words } }, interpolation: { escapeValue: false } }));
  const found = { value: 100, expected: 200, unit: 'Gb/s', text: '' };

  it('is named by its check, an Xid by its number', () => {
    expect(findingOf(t, 'xid', 79)).toBe('Xid 79');
    expect(findingOf(t, 'link_flash')).toBe('link went down');
    expect(findingOf(t, 'of_another_release')).toBe('of another release');
  });

  it('is measured against what was expected', () => {
    expect(measuredOf(t, found, 'en')).toBe('100 Gb/s of 200');
    expect(measuredOf(t, { ...found, expected: 0 }, 'en')).toBe('100 Gb/s');
    expect(measuredOf(t, { ...found, unit: '' }, 'en')).toBe('');
  });

  it('ends with what to do, where it took the node out', () => {
    const reason = 'xid 79 of 0000:3b:00.0; reboot the node, then: glim admin node uncordon n1';
    const advice = 'reboot the node, then: glim admin node uncordon n1';
    expect(adviceOf('health', reason)).toEqual({ why: 'xid 79 of 0000:3b:00.0', advice });
    expect(adviceOf('oscar', 'a fan; and dust')).toEqual({ why: 'a fan; and dust', advice: '' });
  });

  it('is asked for again when there is news of it', () => {
    expect(askedAgainAt([event(9, 'node_relabelled'), event(7, 'health_event'), event(3, 'node_ready')])).toBe('7');
    expect(askedAgainAt([event(9, 'node_relabelled')])).toBe('0');
  });

  it('shows rates in the unit that they are sold by', () => {
    expect([200_000, 100, 0].map((mbps) => rateOf(mbps, 'en'))).toEqual(['200 Gb/s', '100 Mb/s', '']);
  });
});
