// Which rows are shown, and each queued job's number in line. Pure.
import type { Int } from '../../api/int';
import type { QueueRow } from '../../live/types';

export const FILTERS = ['state', 'user', 'team', 'pool', 'class', 'name'] as const;
export type QueueFilters = Record<(typeof FILTERS)[number], string>;

export interface Listed extends QueueRow {
  inLine: number; // among all queued jobs, from 1; 0: it does not wait
}

export function listed(rows: QueueRow[]): Listed[] {
  let before = 0;
  return rows.map((row) => ({ ...row, inLine: row.state === 'queued' ? ++before : 0 }));
}

export function filtered(rows: Listed[], filters: QueueFilters): Listed[] {
  const name = filters.name.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (filters.state === '' || row.state === filters.state) &&
      (filters.user === '' || row.user === filters.user) &&
      (filters.team === '' || row.team === filters.team) &&
      (filters.pool === '' || row.pool === filters.pool) &&
      (filters.class === '' || row.priority === filters.class) &&
      (name === '' || row.name.toLowerCase().includes(name) || String(row.id) === name),
  );
}

// The words that a filter can have: those that there are, and the one that is chosen.
export function valuesOf(rows: QueueRow[], chosen: string, of: (row: QueueRow) => string): string[] {
  const all = new Set(rows.map(of));
  if (chosen) all.add(chosen);
  all.delete('');
  return [...all].sort();
}

export function gpusOf(row: QueueRow): Int {
  return Number(row.nodes) * Number(row.gpus_per_node);
}
