import { describe, expect, it } from 'vitest';
import type { QueueRow } from '../../live/types';
import { historyCsv, historyParts, shareOf, type HistoryRow } from './parts';
import { boundedBy, quotaUses, type Quota } from './quotas';
import { presetOf, rangeFlags, rangeOf } from './range';

const NOW = Date.UTC(2026, 10, 24, 12);
const HOUR = 3_600_000;

describe('the time', () => {
  it('is a week unless the address says otherwise', () => {
    expect(rangeOf({ range: '', from: '', to: '' }, NOW)).toEqual({ sinceMs: NOW - 168 * HOUR, untilMs: 0 });
    expect(presetOf({ range: 'nonsense', from: '', to: '' })).toBe('7d');
    expect(rangeOf({ range: 'all', from: '', to: '' }, NOW).sinceMs).toBe(0);
  });

  it('is of whole days in the reader zone, the last one too', () => {
    const { sinceMs, untilMs } = rangeOf({ range: '7d', from: '2026-11-02', to: '2026-11-03' }, NOW);
    expect(untilMs - sinceMs).toBe(48 * HOUR);
    expect(new Date(sinceMs).getHours()).toBe(0);
    expect(rangeFlags({ range: '', from: '2026-11-02', to: '' })).toMatch(/^--since 2026-11-0\dT\d\d:\d\dZ$/);
  });
});

const row = {
  name: '=x',
  job_name: '',
  user: '',
  jobs: 1,
  gpu_ms: 10 * HOUR,
  productive_gpu_ms: 8 * HOUR,
} as HistoryRow;

describe('the parts of GPU-time', () => {
  const whole = { ...row, lost_gpu_ms: HOUR };
  it('add up to all of it', () => {
    expect(historyParts(whole).map((part) => part.ms / HOUR)).toEqual([8, 1, 1]);
    expect(shareOf(historyParts(whole), 'lost')).toBe(0.1);
  });

  it('are CSV in which no name is a formula', () => {
    const lines = historyCsv('user', [whole], 'credits').split('\r\n');
    expect(lines[0]).toContain('gpu_hours,productive_gpu_hours,around_gpu_hours,lost_gpu_hours');
    expect(lines[1]).toMatch(/^'=x,/);
    expect(lines[1]).toContain(',10,8,1,1,');
  });
});

describe('quotas', () => {
  const quota = (of: string, subject: string, priority: string, nodes: number): Quota => ({
    ...{ of, subject, pool: '*', priority, nodes, meaning: '' },
  });
  const users = ['kim', 'lee', 'max'].map((name) => ({ name, teams: name === 'max' ? [] : ['vision'] }));
  const quotas = [
    quota('user', 'kim', 'high', 2),
    quota('default_user', '', 'normal', 4),
    quota('team', 'vision', 'low', 9),
  ];
  const accounts = { users, quotas } as Parameters<typeof quotaUses>[0];
  const job = (user: string, priority: string, nodes: number, state = 'running') =>
    ({ user, team: user === 'max' ? '' : 'vision', priority, nodes, state, pool: 'a' }) as QueueRow;

  it('count the class and all above it, of whom they bound', () => {
    const queue = [job('kim', 'very_high', 1), job('kim', 'normal', 5), job('lee', 'normal', 3), job('max', 'high', 2)];
    const uses = quotaUses(accounts, [...queue, job('lee', 'normal', 8, 'queued')]);
    expect(uses.map(({ nodes, who }) => [nodes, who])).toEqual([
      [1, ''],
      [3, 'lee'],
      [9, ''],
    ]);
  });

  it('bound those who have no nearer one', () => {
    expect(boundedBy({ of: 'default_user', subject: '' }, accounts)).toEqual(['lee', 'max']);
    expect(boundedBy({ of: 'team', subject: 'vision' }, accounts)).toEqual(['kim', 'lee']);
  });
});
