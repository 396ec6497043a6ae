// A node's past, of events and of samples. Pure.
import { compareInts, type Int } from '../../api/int';
import type { EventRow } from '../../live/types';

// Kinds of events after which the node's state is another one.
const STATES = new Set([
  'node_registered',
  'node_ready',
  'node_silent',
  'node_refused',
  'node_lost',
  'node_quarantined',
  'node_returned',
  'node_cordoned',
  'node_drained',
  'node_uncordoned',
  'node_fault',
  'node_fault_over',
]);

// Both lists as one, each event once, the newest first.
export function merged(asked: EventRow[], live: EventRow[], node: string): EventRow[] {
  const all = new Map<string, EventRow>();
  for (const event of [...asked, ...live]) if (event.node === node) all.set(String(event.seq), event);
  return [...all.values()].sort((a, b) => compareInts(b.seq, a.seq));
}

// When the node came to be as it is; 0: nothing that is kept says so. `newest` is the newest first.
export function sinceOf(newest: EventRow[]): number {
  return newest.find(({ kind }) => STATES.has(kind))?.happened_at_ms ?? 0;
}

export interface Sample {
  atMs: number;
  complete: boolean;
  state: string; // '': there was no such node
  job: Int | null;
}
export interface Held {
  fromMs: number;
  toMs: number;
  complete: boolean;
  state: string;
  job: Int | null;
}

// Samples that say the same become one, the newest first; each lasts until the next.
export function holdersOf(samples: Sample[]): Held[] {
  const all: Held[] = [];
  samples.forEach(({ atMs, ...sample }, index) => {
    const last = all.at(-1);
    const toMs = samples[index + 1]?.atMs ?? atMs;
    const isSame = last && last.state === sample.state && last.job === sample.job && last.complete === sample.complete;
    if (isSame) last.toMs = toMs;
    else if (toMs > atMs || index === 0) all.push({ fromMs: atMs, toMs, ...sample });
  });
  return all.reverse();
}
