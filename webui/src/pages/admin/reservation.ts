// A reservation as it is typed, as it is asked for, and the command that asks for the same. Pure.
import type { Schemas } from '../../api/client';
import { quote } from '../submit/shell';
import { listOf } from './kinds';

export type Reservation = Schemas['Reservation'];

export interface Draft {
  name: string;
  team: string; // '': nobody's
  of: 'share' | 'nodes';
  pool: string;
  share: string;
  nodes: string; // names
  begins: string; // of an input of the reader's zone: '2026-12-01T08:00'; '': now
  ends: string;
  reason: string;
}

const MINUTE = 60_000;
const FIRST_LENGTH = 4 * 60 * MINUTE;

// What an input of date and time holds: the reader's own zone, to the minute.
export function localOf(ms: number): string {
  return ms > 0 ? new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE).toISOString().slice(0, 16) : '';
}

// 0: nothing was said.
export const msOf = (local: string): number => (local ? new Date(local).getTime() || 0 : 0);

export function freshDraft(pool: string, nowMs: number): Draft {
  const ends = localOf(nowMs + FIRST_LENGTH);
  return { name: '', team: '', of: 'share', pool, share: '1', nodes: '', begins: '', ends, reason: '' };
}

export function draftOf(row: Reservation): Draft {
  return {
    name: row.name,
    team: row.team,
    of: row.node_names.length > 0 ? 'nodes' : 'share',
    pool: row.pool,
    share: String(row.share || 1),
    nodes: row.node_names.join(', '),
    begins: localOf(row.begins_at_ms),
    ends: localOf(row.ends_at_ms),
    reason: row.reason,
  };
}

// A time that nobody has changed keeps its seconds; what has begun goes on as it began.
function momentOf(local: string, beforeMs: number): number {
  return beforeMs > 0 && local === localOf(beforeMs) ? beforeMs : msOf(local);
}

export function requestOf(draft: Draft, before: Reservation | null, nowMs: number): Schemas['ReservationInput'] {
  const ofNodes = draft.of === 'nodes';
  const beginsMs = momentOf(draft.begins, before?.begins_at_ms ?? 0);
  const hasBegun = before !== null && beginsMs === before.begins_at_ms && beginsMs <= nowMs;
  return {
    name: draft.name.trim(),
    team: draft.team,
    pool: ofNodes ? '' : draft.pool,
    share: ofNodes ? 0 : Number(draft.share) || 0,
    node_names: ofNodes ? listOf(draft.nodes) : [],
    begins_at_ms: hasBegun ? 0 : beginsMs,
    ends_at_ms: momentOf(draft.ends, before?.ends_at_ms ?? 0),
    reason: draft.reason.trim(),
  };
}

export function isWhole(draft: Draft): boolean {
  const what = draft.of === 'nodes' ? listOf(draft.nodes).length > 0 : draft.pool !== '' && Number(draft.share) > 0;
  return draft.name.trim() !== '' && draft.ends !== '' && draft.reason.trim() !== '' && what;
}

const SAID = ['team', 'pool', 'share', 'node_names', 'begins_at_ms', 'ends_at_ms', 'reason'] as const;

export function isSame(before: Reservation | null, after: Reservation | null): boolean {
  return before !== null && after !== null && SAID.every((key) => String(before[key]) === String(after[key]));
}

const moment = (local: string) => `${new Date(msOf(local)).toISOString().slice(0, 16)}Z`;

export function commandOf(draft: Draft): string {
  const words = ['glim admin reserve set', quote(draft.name.trim() || 'NAME')];
  if (draft.team) words.push('--team', quote(draft.team));
  if (draft.of === 'nodes') words.push('--node', quote(listOf(draft.nodes).join(',')));
  else words.push('--pool', quote(draft.pool), '--nodes', quote(draft.share));
  if (msOf(draft.begins) > 0) words.push('--from', moment(draft.begins));
  if (msOf(draft.ends) > 0) words.push('--until', moment(draft.ends));
  words.push('--reason', quote(draft.reason.trim()));
  return words.join(' ');
}
