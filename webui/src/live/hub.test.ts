import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Hub, type Source, type Surroundings, type Tab } from './hub';
import type { StreamStatus, ToTab } from './types';

class FakeSource implements Source {
  closed = false;
  calls = new Map<string, (data: string, lastId: string) => void>();
  opened = () => {};
  failed: (over: boolean) => void = () => {};
  constructor(
    readonly topics: string[],
    readonly lastId: string,
  ) {}
  listen(event: string, call: (data: string, lastId: string) => void) {
    this.calls.set(event, call);
  }
  onOpen(call: () => void) {
    this.opened = call;
  }
  onError(call: (over: boolean) => void) {
    this.failed = call;
  }
  close() {
    this.closed = true;
  }
  send(event: string, data: object, lastId = '') {
    this.calls.get(event)?.(JSON.stringify(data), lastId);
  }
}

class FakeTab implements Tab {
  got: ToTab[] = [];
  post(message: ToTab) {
    this.got.push(message);
  }
  get status(): StreamStatus | undefined {
    return this.got.findLast((one) => one.kind === 'status')?.status;
  }
  of(kind: ToTab['kind']) {
    return this.got.filter((one) => one.kind === kind);
  }
}

let sources: FakeSource[];
let hub: Hub;
let isThere = true;

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllTimers(); // of the hub before
  sources = [];
  isThere = true;
  const around: Surroundings = {
    open: (topics, lastId) => {
      sources.push(new FakeSource(topics, lastId));
      return sources.at(-1)!;
    },
    later: (ms, call) => {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
    now: () => Date.now(),
    isThere: () => Promise.resolve(isThere),
  };
  hub = new Hub(around);
});

function wants(tab: Tab, ...topics: string[]) {
  hub.take(tab, { kind: 'topics', topics, lock: '' });
  vi.advanceTimersByTime(100);
}
const last = () => sources.at(-1)!;

describe('several tabs', () => {
  it('share one stream of the union of their topics', () => {
    const [a, b] = [new FakeTab(), new FakeTab()];
    hub.take(a, { kind: 'topics', topics: ['queue'], lock: '' });
    hub.take(b, { kind: 'topics', topics: ['nodes', 'queue'], lock: '' });
    vi.advanceTimersByTime(100);
    expect(sources.map((one) => one.topics)).toEqual([['queue', 'nodes']]);
    last().send('nodes', { reset: true, nodes: [] });
    expect(a.of('frame')).toHaveLength(0);
    expect(b.of('frame')).toHaveLength(1);
    expect(a.status?.tabs).toBe(2);
  });

  it('a topic that another tab has costs no new stream: its state is given', () => {
    const [a, b] = [new FakeTab(), new FakeTab()];
    wants(a, 'queue');
    last().send('queue', { reset: true, jobs: [{ id: 1, name: 'x' }] });
    wants(b, 'queue');
    expect(sources).toHaveLength(1);
    expect(b.of('state')).toEqual([
      { kind: 'state', topic: 'queue', state: { kind: 'rows', rows: [['1', { id: 1, name: 'x' }]] } },
    ]);
  });

  it('a new topic opens another stream, which goes on where the first was', () => {
    const tab = new FakeTab();
    wants(tab, 'events');
    last().send('events', { events: [{ seq: 1 }] }, 'id-1');
    wants(tab, 'events', 'job:7');
    expect(sources).toHaveLength(2);
    expect(sources[0]?.closed).toBe(true);
    expect(last()).toMatchObject({ topics: ['events', 'job:7'], lastId: 'id-1' });
    sources[0]?.send('events', { events: [{ seq: 9 }] }, 'id-9');
    expect(tab.of('frame')).toHaveLength(1);
  });

  it('a topic too many is kept until there is a new one', () => {
    const tab = new FakeTab();
    wants(tab, 'queue', 'job:7');
    wants(tab, 'queue');
    expect(sources).toHaveLength(1);
    wants(tab, 'queue', 'nodes');
    expect(last().topics).toEqual(['queue', 'nodes']);
  });

  it('never asks for more topics and logs than a stream has', () => {
    const logs = Array.from({ length: 12 }, (_, at) => `log:1:${at}`);
    const jobs = Array.from({ length: 40 }, (_, at) => `job:${at + 1}`);
    wants(new FakeTab(), ...logs, 'queue');
    expect(last().topics).toHaveLength(9);
    wants(new FakeTab(), ...jobs);
    expect(last().topics).toHaveLength(32);
  });

  it('the last one that goes closes the stream', () => {
    const [a, b] = [new FakeTab(), new FakeTab()];
    wants(a, 'queue');
    wants(b, 'queue');
    hub.take(a, { kind: 'over' });
    expect(last().closed).toBe(false);
    hub.leaves(b);
    expect(last().closed).toBe(true);
  });
});

describe('a stream that fails', () => {
  it('is lost until the browser has it again', () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    last().opened();
    expect(tab.status?.phase).toBe('live');
    last().failed(false);
    expect(tab.status?.phase).toBe('lost');
    vi.advanceTimersByTime(60_000);
    expect(sources).toHaveLength(1);
    last().opened();
    expect(tab.status?.phase).toBe('live');
  });

  it('is opened again, less and less often, where the browser gives up', () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      const count = sources.length;
      last().failed(true);
      vi.advanceTimersByTime(wait - 1);
      expect(sources).toHaveLength(count);
      vi.advanceTimersByTime(1);
      expect(sources).toHaveLength(count + 1);
    }
  });

  it('goes on after bye of a scheduler that stops, and not after a refusal until somebody asks', () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    last().send('bye', { error: { reason: 'STOPPING' } });
    expect(tab.status?.phase).toBe('lost');
    vi.advanceTimersByTime(1_000);
    expect(sources).toHaveLength(2);
    last().send('bye', { error: { reason: 'TOKEN_REVOKED', message: 'revoked' } });
    expect(tab.status).toMatchObject({ phase: 'bye', error: { message: 'revoked' } });
    vi.advanceTimersByTime(60_000);
    expect(sources).toHaveLength(2);
    hub.take(tab, { kind: 'again' });
    vi.advanceTimersByTime(100);
    expect(sources).toHaveLength(3);
  });

  it('tells that the scheduler sees no store', () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    last().send('stale', { stale_since_ms: 1234, message: 'no room' });
    expect(tab.status).toMatchObject({ staleSinceMs: 1234, staleWhy: 'no room' });
    last().send('stale', { stale_since_ms: 0 });
    expect(tab.status?.staleSinceMs).toBe(0);
  });

  it('forgets that the store was away when another scheduler answers', () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    last().opened();
    last().send('stale', { stale_since_ms: 1234 });
    last().failed(true);
    vi.advanceTimersByTime(1_000);
    last().opened();
    expect(tab.status).toMatchObject({ phase: 'live', staleSinceMs: 0 });
  });

  it('is lost where the scheduler hangs, and is opened again', async () => {
    const tab = new FakeTab();
    wants(tab, 'queue');
    last().opened();
    await vi.advanceTimersByTimeAsync(15_000);
    last().send('queue', { reset: true, jobs: [] });
    isThere = false;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(tab.status?.phase).toBe('live'); // it was heard 15 s ago
    await vi.advanceTimersByTimeAsync(6_000);
    expect(tab.status?.phase).toBe('lost');
    expect(sources).toHaveLength(2);
    expect(sources[0]?.closed).toBe(true);
    isThere = true;
    last().opened();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(tab.status?.phase).toBe('live');
    expect(sources).toHaveLength(2);
  });
});
