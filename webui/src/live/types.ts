// What the stream sends (docs/protocols/stream.md), and what tabs and the shared worker tell each other.
import type { Schemas } from '../api/client';
import type { ErrorWords } from '../api/error';
import type { Int } from '../api/int';

export type NodeRow = Omit<Schemas['Node'], 'last_heard' | 'last_heard_ms'>;
export type JobDetail = Schemas['Job'];
export type EventRow = Schemas['Event'];

// A job that is not over, as everybody may see it. `place` is its place in the list: the first difference decides.
export interface QueueRow {
  id: Int;
  name: string;
  user: string;
  team: string;
  pool: string;
  priority: string;
  state: string;
  nodes: Int;
  gpus_per_node: Int;
  submitted_at_ms: number;
  submitted_at: string | null;
  attempts: Int;
  interrupts: Int;
  restarts: Int;
  steps_lost: Int;
  durable_step: Int;
  place: Int[];
}

export interface LogFrame {
  offset?: Int;
  attempt?: number;
  data?: string; // base64
  kept_of_node?: string;
  end?: { reason: string; message: string; fix: string };
}

// A part of a log, decoded. `end` stands in the last one, which may have no bytes.
export interface LogPart {
  offset: number;
  attempt: number;
  bytes: Uint8Array;
  keptOfNode: string; // the scheduler's copy of the end, of a node that is gone; empty: from the node
  end: { reason: string; message: string; fix: string } | null;
}

export interface Frame {
  reset?: boolean;
  removed?: (Int | string)[];
  nodes?: Partial<NodeRow>[];
  jobs?: Partial<QueueRow>[];
  job?: JobDetail | null;
  events?: EventRow[];
  error?: ErrorWords;
  stale_since_ms?: number;
  message?: string; // why it is stale
}

export type Phase = 'idle' | 'connecting' | 'live' | 'lost' | 'bye'; // idle: the tab's page wants no topic

export interface StreamStatus {
  phase: Phase;
  sinceMs: number; // in this phase
  staleSinceMs: number; // the scheduler sees no store since then; 0: it does
  staleWhy: string; // in the scheduler's words
  error: ErrorWords | null; // of bye
  opened: number; // connections that were opened, for tests and the status' details
  tabs: number; // that share the stream
}

export type ToWorker =
  | { kind: 'topics'; topics: string[]; lock: string }
  | { kind: 'again' } // after a bye: somebody has signed in or pressed the button
  | { kind: 'over' }; // signed out, or the tab is closed

export type ToTab =
  | { kind: 'status'; status: StreamStatus }
  | { kind: 'frame'; topic: string; data: string } // as the stream sent it
  | { kind: 'state'; topic: string; state: TopicState }; // of a topic that another tab had already

// All that is known of a topic, for a tab that comes later.
export type TopicState =
  | { kind: 'rows'; rows: [string, unknown][] }
  | { kind: 'job'; job: JobDetail | null }
  | { kind: 'events'; events: EventRow[] }
  | { kind: 'log'; parts: LogPart[] };

export const FIRST_STATUS: StreamStatus = {
  phase: 'connecting',
  sinceMs: 0,
  staleSinceMs: 0,
  staleWhy: '',
  error: null,
  opened: 0,
  tabs: 1,
};

export const IDLE_STATUS: StreamStatus = { ...FIRST_STATUS, phase: 'idle' };
