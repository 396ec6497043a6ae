// What pages use: each hook wants its topic while the component is there, and renders it anew when it changes.
import { useCallback, useEffect, useSyncExternalStore } from 'react';
import { useSyncExternalStoreWithSelector } from 'use-sync-external-store/with-selector';
import { compareInts, type Int } from '../api/int';
import { liveClient, type Live } from './client';
import type { EventRow, JobDetail, LogPart, NodeRow, QueueRow, StreamStatus } from './types';

export interface Rows<Row> {
  ready: boolean; // false: the first state has not come yet
  rows: Row[];
}

const NONE: Rows<never> = { ready: false, rows: [] };

// The topic's state, through `select`; rendered anew when that is not `same` as before. '': nothing is wanted.
export function useTopic<T>(
  topic: string,
  select: (live: Live | null) => T,
  same: (a: T, b: T) => boolean = Object.is,
) {
  useEffect(() => (topic ? liveClient.use(topic) : undefined), [topic]);
  const subscribe = useCallback((call: () => void) => liveClient.subscribe(topic, call), [topic]);
  const version = useCallback(() => `${topic} ${liveClient.live(topic)?.version ?? -1}`, [topic]);
  const read = useCallback(() => select(liveClient.live(topic)), [topic, select]);
  return useSyncExternalStoreWithSelector(subscribe, version, version, read, same);
}

// Lists are sorted once for each change, not once for each component.
function listOf<Row>(sort: (a: Row, b: Row) => number) {
  const made = new WeakMap<Live, { version: number; list: Rows<Row> }>();
  return (live: Live | null): Rows<Row> => {
    if (!live?.ready) return NONE;
    const before = made.get(live);
    if (before?.version === live.version) return before.list;
    const list = { ready: true, rows: ([...live.rows.values()] as Row[]).sort(sort) };
    made.set(live, { version: live.version, list });
    return list;
  };
}

export function comparePlaces(a: Int[], b: Int[]): number {
  for (let i = 0; i < a.length; i++) {
    const difference = compareInts(a[i] ?? 0, b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const compareNames = new Intl.Collator('en', { numeric: true }).compare;
const nodesOf = listOf<NodeRow>((a, b) => compareNames(a.name, b.name));
const queueOf = listOf<QueueRow>((a, b) => comparePlaces(a.place, b.place));

// All nodes, by name.
export function useNodes(): Rows<NodeRow> {
  return useTopic('nodes', nodesOf);
}

// All jobs that are not over, in the order of the list.
export function useQueue(): Rows<QueueRow> {
  return useTopic('queue', queueOf);
}

// One row: rendered anew when this row changes alone. undefined: there is none (yet: see `ready`).
export function useNode(name: string): { ready: boolean; row: NodeRow | undefined } {
  return useRow<NodeRow>('nodes', name);
}
export function useQueueRow(id: Int): { ready: boolean; row: QueueRow | undefined } {
  return useRow<QueueRow>('queue', String(id));
}
function useRow<Row>(topic: string, key: string) {
  const select = useCallback(
    (live: Live | null) => ({ ready: live?.ready ?? false, row: live?.rows.get(key) as Row | undefined }),
    [key],
  );
  return useTopic(topic, select, (a, b) => a.ready === b.ready && a.row === b.row);
}

const jobOf = (live: Live | null) => ({ ready: live?.ready ?? false, job: live?.job ?? null });
const sameJob = (a: ReturnType<typeof jobOf>, b: ReturnType<typeof jobOf>) => a.ready === b.ready && a.job === b.job;

// A job with its attempts; null: there is none. An ended job that is forgotten is in the history alone.
export function useJob(id: Int): { ready: boolean; job: JobDetail | null } {
  return useTopic(`job:${id}`, jobOf, sameJob);
}

const NO_EVENTS: EventRow[] = [];
const eventsOf = (live: Live | null) => live?.events ?? NO_EVENTS;

// What happened, oldest first: the newest 200 at the beginning, and all that came since.
export function useEvents(): EventRow[] {
  return useTopic('events', eventsOf);
}

const NO_LOG: LogPart[] = [];
const logOf = (live: Live | null) => live?.log ?? NO_LOG;

// A rank's log as it comes. Parts go away at the front beyond 4 MiB: the first part's offset says so.
export function useLog(job: Int, rank: number): LogPart[] {
  return useTopic(`log:${job}:${rank}`, logOf);
}

const subscribeStatus = (call: () => void) => liveClient.subscribe('', call);
const readStatus = () => liveClient.streamStatus();

export function useStreamStatus(): StreamStatus {
  return useSyncExternalStore(subscribeStatus, readStatus);
}
