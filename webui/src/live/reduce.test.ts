import { describe, expect, it } from 'vitest';
import { nothingKnown, reduce, stateOf, takeState, EVENTS_KEPT } from './reduce';
import type { EventRow, Frame, LogFrame } from './types';

function after(topic: string, ...frames: (Frame & LogFrame)[]) {
  const known = nothingKnown(topic);
  for (const frame of frames) reduce(known, frame);
  return known;
}

const event = (seq: number | bigint) => ({ seq, kind: 'job_submitted' }) as EventRow;
const base64 = (text: string) => btoa(text);
const textOf = (known: ReturnType<typeof nothingKnown>) =>
  known.log.map((part) => new TextDecoder().decode(part.bytes)).join('');

describe('rows', () => {
  it('a reset empties the table, then removed ones go, then fields are laid over what is there', () => {
    const known = after(
      'queue',
      { reset: true, jobs: [{ id: 1, name: 'old' }] },
      { reset: true, jobs: [{ id: 2, name: 'a', state: 'queued' }] },
      { jobs: [{ id: 3, name: 'b' }] },
      { removed: [3], jobs: [{ id: 2, state: 'running' }] },
    );
    expect([...known.rows]).toEqual([['2', { id: 2, name: 'a', state: 'running' }]]);
  });

  it('a state comes in parts', () => {
    const known = after('nodes', { reset: true, nodes: [{ name: 'n1' }] }, { nodes: [{ name: 'n2' }] });
    expect([...known.rows.keys()]).toEqual(['n1', 'n2']);
  });

  it('rows that have not changed keep their identity, and the changed ones are told', () => {
    const known = after('queue', { reset: true, jobs: [{ id: 1 }, { id: 2 }] });
    const [one, two] = [known.rows.get('1'), known.rows.get('2')];
    expect(reduce(known, { jobs: [{ id: 2, state: 'held' }] })).toEqual(['2']);
    expect(known.rows.get('1')).toBe(one);
    expect(known.rows.get('2')).not.toBe(two);
    expect(reduce(known, { reset: true, jobs: [] })).toBeNull();
  });

  it('ids beyond 2^53 are told apart', () => {
    const [a, b] = [2n ** 60n, 2n ** 60n + 1n];
    const known = after('queue', { reset: true, jobs: [{ id: a }, { id: b }] }, { removed: [a] });
    expect([...known.rows.keys()]).toEqual([String(b)]);
  });

  it('removed and added again in one frame is there', () => {
    const known = after('nodes', { reset: true, nodes: [{ name: 'n1', state: 'lost' }] });
    reduce(known, { removed: ['n1'], nodes: [{ name: 'n1', state: 'ready' }] });
    expect(known.rows.get('n1')).toEqual({ name: 'n1', state: 'ready' });
  });
});

describe('events', () => {
  it('come once each, also when a frame comes again', () => {
    const known = after(
      'events',
      { reset: true, events: [event(1), event(2)] },
      { events: [event(2), event(3)] },
      { reset: true, events: [] },
      { events: [event(3), event(4)] },
    );
    expect(known.events.map((one) => one.seq)).toEqual([1, 2, 3, 4]);
  });

  it('are kept up to a bound', () => {
    const many = Array.from({ length: EVENTS_KEPT + 5 }, (_, at) => event(at + 1));
    expect(after('events', { reset: true, events: many }).events).toHaveLength(EVENTS_KEPT);
  });
});

describe('a job', () => {
  it('is replaced, and null if there is none', () => {
    const known = after('job:1', { job: null });
    expect(known).toMatchObject({ ready: true, job: null });
    reduce(known, { job: { id: 1 } } as Frame);
    expect(known.job).toEqual({ id: 1 });
  });
});

describe('a log', () => {
  it('is put together, and what comes again otherwise cut counts once', () => {
    const known = after(
      'log:1:0',
      { offset: 0, attempt: 1, data: base64('one ') },
      { offset: 4, attempt: 1, data: base64('two ') },
      { offset: 4, attempt: 1, data: base64('two three ') },
      { offset: 0, attempt: 2, data: base64('again') },
    );
    expect(textOf(known)).toBe('one two three again');
  });

  it('ends with the word why', () => {
    const known = after('log:1:0', { offset: 0, attempt: 1, data: base64('x') });
    reduce(known, { end: { reason: 'NOT_YOURS', message: 'it is not yours', fix: '' } });
    expect(known.log.at(-1)?.end?.reason).toBe('NOT_YOURS');
    expect(textOf(known)).toBe('x');
  });
});

describe('a tab that comes later', () => {
  it('is given the same state', () => {
    for (const known of [
      after('queue', { reset: true, jobs: [{ id: 1 }] }),
      after('events', { reset: true, events: [event(1)] }),
      after('job:1', { job: { id: 1 } } as Frame),
      after('log:1:0', { offset: 0, attempt: 1, data: base64('x') }),
    ]) {
      const late = nothingKnown(known.topic);
      takeState(late, stateOf(known));
      expect(late).toEqual(known);
    }
  });
});
