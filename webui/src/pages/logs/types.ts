// What a pane is made of, and what it needs.
import type { Line } from './lines';
import type { Followed, Read } from './source';

export interface Mark {
  kind: 'mark';
  attempt: number;
  what: 'began' | 'ended' | 'rotated' | 'noLog';
}
export type Item = Line | Mark;

// An attempt that has had its nodes, and so may have a log. Oldest first.
export interface LogAttempt {
  number: number;
  live: boolean;
  starting: boolean; // it may have written nothing yet
}

export interface Place {
  attempt: number;
  offset: number;
}

export interface Surroundings {
  reader: (attempt: number) => Read;
  follow: (attempt: number, offset: number, signal: AbortSignal, to: Followed) => void;
  later: (ms: number, call: () => void) => () => void;
}
