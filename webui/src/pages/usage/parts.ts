// What GPU-time is made of, of jobs that ended and of the ledger, and both as CSV. Pure.
import type { Schemas } from '../../api/client';
import { num } from '../../api/int';

export type HistoryRow = Schemas['HistoryReportRow'];
export type LedgerRow = Schemas['ReportRow'];

export const USES = [
  'productive',
  'restoring',
  'starting',
  'claimed',
  'stopping',
  'lost',
  'unavailable',
  'free',
] as const;
export type Use = (typeof USES)[number];

export interface Part {
  key: string;
  ms: number;
  colour: string; // a token
}

const HOUR_MS = 3_600_000;

// The history keeps what was productive and what was lost; the rest went into getting nodes, starts, restores, saves.
export function historyParts(row: HistoryRow): Part[] {
  const productive = num(row.productive_gpu_ms);
  const lost = num(row.lost_gpu_ms);
  return [
    { key: 'productive', ms: productive, colour: '--state-good' },
    { key: 'around', ms: Math.max(0, num(row.gpu_ms) - productive - lost), colour: '--state-start' },
    { key: 'lost', ms: lost, colour: '--state-bad' },
  ];
}

const LEDGER_COLOURS: Record<Use, string> = {
  productive: '--state-good',
  restoring: '--series-1',
  starting: '--state-start',
  claimed: '--series-5',
  stopping: '--state-warn',
  lost: '--state-bad',
  unavailable: '--state-held',
  free: '--line',
};

export function ledgerParts(uses: Schemas['Uses'] | null): Part[] {
  return USES.map((use) => ({ key: use, ms: num(uses?.[`${use}_gpu_ms`] ?? 0), colour: LEDGER_COLOURS[use] }));
}

export function sumOf(parts: Part[]): number {
  return parts.reduce((sum, part) => sum + part.ms, 0);
}

export function shareOf(parts: Part[], key: string): number {
  const sum = sumOf(parts);
  return sum > 0 ? (parts.find((part) => part.key === key)?.ms ?? 0) / sum : 0;
}

type Cell = string | number | bigint;

// A cell that a spreadsheet would take for a formula is kept as text.
function cellOf(value: Cell): string {
  if (typeof value !== 'string') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv(head: string[], rows: Cell[][]): string {
  return [head, ...rows].map((row) => row.map(cellOf).join(',')).join('\r\n') + '\r\n';
}

const hours = (ms: number) => Math.round((ms / HOUR_MS) * 1e6) / 1e6;

export function historyCsv(by: string, rows: HistoryRow[], priceUnit: string): string {
  const head = [by, 'job_name', 'user', 'jobs', 'succeeded', 'failed', 'cancelled', 'interrupts', 'restarts'];
  const amounts = ['gpu_hours', 'productive_gpu_hours', 'around_gpu_hours', 'lost_gpu_hours', 'steps_lost'];
  const price = priceUnit ? [`price_${priceUnit}`] : [];
  const lines = rows.map((row) => [
    ...[row.name, row.job_name, row.user, row.jobs, row.succeeded, row.failed, row.cancelled],
    ...[row.interrupts, row.restarts, hours(num(row.gpu_ms))],
    ...historyParts(row).map((part) => hours(part.ms)),
    row.steps_lost,
    ...(priceUnit ? [row.price] : []),
  ]);
  return csv([...head, ...amounts, ...price], lines);
}

export function ledgerCsv(by: string, rows: LedgerRow[]): string {
  const head = [by, 'kind', 'count', 'gpu_hours', ...USES.map((use) => `${use}_gpu_hours`)];
  const lines = rows.map((row) => {
    const parts = ledgerParts(row.uses).map((part) => hours(part.ms));
    return [row.name, row.kind, row.count, hours(num(row.gpu_ms)), ...parts];
  });
  return csv(head, lines);
}
