// How states look: a colour's token and a shape, so that colour is never all that tells them apart. The word is
// `common:jobStates.X` and the like.
export type Shape = 'disc' | 'ring' | 'triangle' | 'square' | 'diamond' | 'cross' | 'half' | 'pause';
export interface Look {
  colour: string;
  shape: Shape;
}

const good: Look = { colour: '--state-good', shape: 'disc' };
const bad: Look = { colour: '--state-bad', shape: 'cross' };
const none: Look = { colour: '--state-none', shape: 'ring' };

export const LOOKS = {
  jobStates: {
    queued: { colour: '--state-wait', shape: 'ring' },
    starting: { colour: '--state-start', shape: 'half' },
    running: { colour: '--state-run', shape: 'disc' },
    interrupting: { colour: '--state-warn', shape: 'triangle' },
    cancelling: { colour: '--state-warn', shape: 'square' },
    suspending: { colour: '--state-held', shape: 'half' },
    held: { colour: '--state-held', shape: 'pause' },
    succeeded: good,
    failed: bad,
    cancelled: { colour: '--state-none', shape: 'square' },
  },
  attemptStates: {
    claimed: { colour: '--state-wait', shape: 'half' },
    starting: { colour: '--state-start', shape: 'half' },
    running: { colour: '--state-run', shape: 'disc' },
    stopping: { colour: '--state-warn', shape: 'triangle' },
    ended: none,
  },
  nodeStates: {
    ready: good,
    silent: { colour: '--state-warn', shape: 'half' },
    lost: bad,
    quarantined: { colour: '--state-bad', shape: 'triangle' },
    refused: { colour: '--state-warn', shape: 'square' },
    cordoned: { colour: '--state-held', shape: 'pause' },
    draining: { colour: '--state-held', shape: 'half' },
    drained: { colour: '--state-held', shape: 'square' },
    faulty: { colour: '--state-bad', shape: 'diamond' },
  },
  uses: {
    free: none,
    claimed: { colour: '--state-wait', shape: 'half' },
    unavailable: { colour: '--state-held', shape: 'cross' },
    starting: { colour: '--state-start', shape: 'half' },
    restoring: { colour: '--state-start', shape: 'diamond' },
    productive: { colour: '--state-good', shape: 'disc' },
    stopping: { colour: '--state-warn', shape: 'triangle' },
    lost: bad,
  },
} as const satisfies Record<string, Record<string, Look>>;

export type StateKind = keyof typeof LOOKS;

export function lookOf(kind: StateKind, state: string): Look {
  return (LOOKS[kind] as Record<string, Look>)[state] ?? none;
}
