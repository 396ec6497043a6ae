// How long jobs of a size waited, and whether within the bound that the policy promises. Pure.
import type { Schemas } from '../../api/client';

export type EndedJob = Schemas['EndedJob'];

export interface SizeRow {
  size: string; // "1", "2-3", "4-7": nodes
  from: number;
  jobs: number;
  meanMs: number;
  p50Ms: number;
  p90Ms: number;
  maxMs: number;
}

// Sizes double, so that each row has enough jobs to say something.
function firstOf(nodes: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, nodes)));
}

// By nearest rank; `sorted` is not empty.
export function percentile(sorted: number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

const waitOf = (job: EndedJob) => job.started_at_ms - job.submitted_at_ms;
const started = (jobs: readonly EndedJob[]) => jobs.filter((job) => job.started_at_ms > 0);

export function waitsBySize(jobs: readonly EndedJob[]): SizeRow[] {
  const groups = new Map<number, number[]>();
  for (const job of started(jobs)) {
    const from = firstOf(job.nodes);
    groups.set(from, [...(groups.get(from) ?? []), waitOf(job)]);
  }
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([from, waits]) => {
      const sorted = waits.sort((a, b) => a - b);
      return {
        size: from === 1 ? '1' : `${from}–${2 * from - 1}`,
        from,
        jobs: sorted.length,
        meanMs: sorted.reduce((sum, one) => sum + one, 0) / sorted.length,
        p50Ms: percentile(sorted, 0.5),
        p90Ms: percentile(sorted, 0.9),
        maxMs: percentile(sorted, 1),
      };
    });
}

export function promises(jobs: readonly EndedJob[], boundMs: number): { kept: number; broken: EndedJob[] } {
  const all = started(jobs);
  const broken = all.filter((job) => waitOf(job) > boundMs);
  return { kept: all.length - broken.length, broken };
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// `starvation_bound` of the policy in force, which the scheduler writes one key a line; 0: it cannot be told.
export function boundOf(policy: string): number {
  const [, amount, unit] = /^starvation_bound: (\d+)(ms|s|m|h|d)$/m.exec(policy) ?? [];
  return Number(amount ?? 0) * (UNITS[unit ?? ''] ?? 0);
}
