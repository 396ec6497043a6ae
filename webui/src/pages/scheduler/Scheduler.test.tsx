import { describe, expect, it } from 'vitest';
import { boundOf, percentile, promises, waitsBySize, type EndedJob } from './waits';

const job = (nodes: number, waited: number) =>
  ({ id: nodes, nodes, submitted_at_ms: 1_000, started_at_ms: waited < 0 ? 0 : 1_000 + waited }) as EndedJob;

describe('waits', () => {
  it('are of sizes that double, of jobs that started', () => {
    const rows = waitsBySize([job(1, 10), job(2, 20), job(3, 40), job(4, 5), job(9, -1)]);
    expect(rows.map(({ size, jobs, p50Ms, maxMs }) => [size, jobs, p50Ms, maxMs])).toEqual([
      ['1', 1, 10, 10],
      ['2–3', 2, 20, 40],
      ['4–7', 1, 5, 5],
    ]);
    expect(percentile([1, 2, 3, 4], 0.9)).toBe(4);
  });

  it('are held against the bound of the policy', () => {
    expect(boundOf('starvation_bound: 1d\n')).toBe(86_400_000);
    expect(boundOf('quantum_min: 15m\n')).toBe(0);
    expect(promises([job(1, 10), job(2, 30), job(3, -1)], 20)).toMatchObject({ kept: 1, broken: [{ id: 2 }] });
  });
});
