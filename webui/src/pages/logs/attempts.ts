// Of a job: its ranks, and the attempts that may have logs.
import type { JobDetail } from '../../live/types';
import type { LogAttempt } from './types';

export const PANES_MAX = 4;

export function ranksOf(job: JobDetail): number {
  const spec = job.spec;
  if (!spec) return 1;
  return Math.max(1, spec.nodes * (spec.launcher === 'per_gpu' ? Math.max(1, spec.gpus_per_node) : 1));
}

// An attempt that never had its nodes has no log.
export function logAttemptsOf(job: JobDetail): LogAttempt[] {
  return job.attempts
    .filter((one) => one.started_at_ms > 0)
    .map((one) => ({
      number: one.ref?.number ?? 0,
      live: one.state !== 'ended',
      starting: one.state !== 'ended' && one.running_at_ms === 0,
    }));
}

// Of the address: '0,3'. At least one, at most four, and none that the job has not.
export function chosenRanks(text: string, count: number): number[] {
  const numbers = text.split(',').flatMap((part) => (/^\d{1,9}$/.test(part) ? [Number(part)] : []));
  const known = [...new Set(numbers)].filter((rank) => rank < count).slice(0, PANES_MAX);
  return known.length > 0 ? known : [0];
}

// Of the address: 'RANK.ATTEMPT.OFFSET', the line that is marked.
export interface Target {
  rank: number;
  attempt: number;
  offset: number;
}

export function targetOf(text: string): Target | null {
  const found = /^(\d{1,9})\.(\d{1,9})\.(\d{1,15})$/.exec(text);
  return found ? { rank: Number(found[1]), attempt: Number(found[2]), offset: Number(found[3]) } : null;
}

export function targetText({ rank, attempt, offset }: Target): string {
  return `${rank}.${attempt}.${offset}`;
}
