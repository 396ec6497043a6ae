// What frames make of what is known: the rules of docs/protocols/stream.md. Pure, used by the worker and by each tab.
import { compareInts, num } from '../api/int';
import type { EventRow, Frame, JobDetail, LogFrame, LogPart, TopicState } from './types';

export const EVENTS_KEPT = 2_000;
export const LOG_KEPT = 4 << 20; // bytes of a log, for tabs that come later

export interface Known {
  topic: string;
  ready: boolean; // its state has come
  rows: Map<string, unknown>;
  job: JobDetail | null;
  events: EventRow[];
  log: LogPart[];
  logSize: number;
}

export function nothingKnown(topic: string): Known {
  return { topic, ready: false, rows: new Map(), job: null, events: [], log: [], logSize: 0 };
}

// Takes a frame in. Returns the keys of the rows that are other ones now; null: all may be.
export function reduce(known: Known, frame: Frame & LogFrame): string[] | null {
  known.ready = true;
  if (known.topic === 'nodes') return takeRows(known, frame, frame.nodes ?? [], 'name');
  if (known.topic === 'queue') return takeRows(known, frame, frame.jobs ?? [], 'id');
  if (frame.events) takeEvents(known, frame.events);
  else if ('job' in frame) known.job = frame.job ?? null;
  else if (frame.data !== undefined || frame.end) takeLog(known, frame);
  return null;
}

function takeRows(known: Known, frame: Frame, rows: object[], key: string): string[] | null {
  if (frame.reset) known.rows.clear();
  const changed: string[] = [];
  for (const removed of frame.removed ?? []) {
    known.rows.delete(String(removed));
    changed.push(String(removed));
  }
  for (const row of rows) {
    const name = String((row as Record<string, unknown>)[key]);
    const before = known.rows.get(name);
    known.rows.set(name, before ? { ...before, ...row } : row);
    changed.push(name);
  }
  return frame.reset ? null : changed;
}

// Each once: those that are not above the highest seq seen have come before. A reset of the stream forgets nothing,
// since seq is the store's.
function takeEvents(known: Known, events: EventRow[]): void {
  const newest = known.events.at(-1)?.seq ?? -1;
  const fresh = events.filter((event) => compareInts(event.seq, newest) > 0);
  if (fresh.length > 0) known.events = [...known.events, ...fresh].slice(-EVENTS_KEPT);
}

// After a reconnection a part may come again that was seen, cut otherwise than before: what is new of it counts.
function takeLog(known: Known, frame: LogFrame): void {
  const last = known.log.at(-1);
  const part = partOf(frame, last);
  if (last && last.attempt === part.attempt) {
    const seen = last.offset + last.bytes.length - part.offset;
    if (seen > 0) {
      part.bytes = part.bytes.subarray(seen);
      part.offset += seen;
    }
  }
  if (part.bytes.length === 0 && !part.end) return;
  known.log = [...known.log, part];
  known.logSize += part.bytes.length;
  while (known.logSize > LOG_KEPT && known.log.length > 1) known.logSize -= known.log.shift()?.bytes.length ?? 0;
}

function partOf(frame: LogFrame, last: LogPart | undefined): LogPart {
  return {
    offset: num(frame.offset ?? (last ? last.offset + last.bytes.length : 0)),
    attempt: frame.attempt ?? last?.attempt ?? 0,
    bytes: Uint8Array.from(atob(frame.data ?? ''), (letter) => letter.charCodeAt(0)),
    keptOfNode: frame.kept_of_node ?? '',
    end: frame.end ?? null,
  };
}

export function stateOf(known: Known): TopicState {
  if (known.topic === 'nodes' || known.topic === 'queue') return { kind: 'rows', rows: [...known.rows] };
  if (known.topic === 'events') return { kind: 'events', events: known.events };
  if (known.topic.startsWith('log:')) return { kind: 'log', parts: known.log };
  return { kind: 'job', job: known.job };
}

export function takeState(known: Known, state: TopicState): void {
  known.ready = true;
  if (state.kind === 'rows') known.rows = new Map(state.rows);
  if (state.kind === 'job') known.job = state.job;
  if (state.kind === 'events') known.events = state.events;
  if (state.kind === 'log') {
    known.log = state.parts;
    known.logSize = state.parts.reduce((sum, part) => sum + part.bytes.length, 0);
  }
}
