// The one stream of all tabs: it is opened with the union of their topics, and opened anew when a topic is missing.
// Lives in the shared worker, or in the tab where there is none. Its surroundings are given: tests have their own.
import { parseJson } from '../api/parse';
import { nothingKnown, reduce, stateOf, type Known } from './reduce';
import { FIRST_STATUS, type Frame, type StreamStatus, type ToTab, type ToWorker } from './types';

const TOPICS_MAX = 32;
const LOGS_MAX = 8;
const GATHER_MS = 30; // a page asks for its topics one by one
const QUIET_MS = 20_000; // a scheduler that has said nothing for so long is asked whether it is there
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000];

export interface Source {
  listen(event: string, call: (data: string, lastId: string) => void): void;
  onOpen(call: () => void): void;
  // `over`: it does not come again by itself.
  onError(call: (over: boolean) => void): void;
  close(): void;
}

export interface Surroundings {
  open(topics: string[], lastId: string): Source;
  later(ms: number, call: () => void): () => void;
  now(): number;
  isThere(): Promise<boolean>; // whether the scheduler answers at all
}

export interface Tab {
  post(message: ToTab): void;
}

export class Hub {
  private readonly tabs = new Map<Tab, Set<string>>();
  private readonly known = new Map<string, Known>();
  private status: StreamStatus;
  private source: Source | null = null;
  private opened: string[] = [];
  private lastId = '';
  private failures = 0;
  private cancelTimer: (() => void) | null = null;
  private cancelWatch: (() => void) | null = null;
  private heardMs = 0;

  constructor(private readonly around: Surroundings) {
    this.status = { ...FIRST_STATUS, sinceMs: around.now() };
  }

  take(tab: Tab, message: ToWorker): void {
    if (message.kind === 'topics') this.wants(tab, new Set(message.topics));
    if (message.kind === 'over') this.leaves(tab);
    if (message.kind === 'again') this.gather(0);
  }

  leaves(tab: Tab): void {
    if (!this.tabs.delete(tab)) return;
    if (this.wanted().length === 0) this.stop();
    this.tell({ tabs: this.tabs.size });
  }

  private wants(tab: Tab, topics: Set<string>): void {
    const had = this.tabs.get(tab) ?? new Set();
    this.tabs.set(tab, topics);
    this.tell({ tabs: this.tabs.size });
    for (const topic of topics) {
      const known = this.known.get(topic);
      if (!had.has(topic) && known?.ready) tab.post({ kind: 'state', topic, state: stateOf(known) });
    }
    // A topic too many costs little; one more than there are is another stream.
    if (this.wanted().some((topic) => !this.opened.includes(topic))) this.gather(GATHER_MS);
  }

  // The union of the tabs' topics, within the stream's bounds: who came first has them.
  private wanted(): string[] {
    const all = new Set([...this.tabs.values()].flatMap((topics) => [...topics]));
    const isLog = (topic: string) => topic.startsWith('log:');
    const logs = [...all].filter(isLog).slice(0, LOGS_MAX);
    const rest = [...all].filter((topic) => !isLog(topic));
    return [...rest, ...logs].slice(0, TOPICS_MAX);
  }

  private gather(ms: number): void {
    this.cancelTimer?.();
    this.cancelTimer = this.around.later(ms, () => this.open());
  }

  private open(): void {
    this.cancelTimer = null;
    const topics = this.wanted();
    if (topics.length === 0) return this.stop();
    const before = this.source;
    this.opened = topics;
    for (const topic of this.known.keys()) if (!topics.includes(topic)) this.known.delete(topic);
    const source = this.around.open(topics, this.lastId);
    this.source = source;
    before?.close();
    this.tell({ opened: this.status.opened + 1 });
    this.follow(source, topics);
  }

  private follow(source: Source, topics: string[]): void {
    const mine = (call: () => void) => () => this.source === source && call();
    source.onOpen(
      mine(() => {
        this.failures = 0;
        this.enter('live');
        // A stream that is opened says by itself that the store is away, and nothing where it is not.
        if (this.status.staleSinceMs > 0) this.tell({ staleSinceMs: 0, staleWhy: '' });
        this.heardMs = this.around.now();
        this.watch(source, QUIET_MS);
      }),
    );
    source.onError((over) =>
      mine(() => {
        this.enter('lost');
        if (over) this.comeAgain();
      })(),
    );
    for (const topic of topics) {
      source.listen(topic, (data, lastId) => mine(() => this.frame(topic, data, lastId))());
    }
    source.listen('stale', (data) =>
      mine(() => {
        const { stale_since_ms = 0, message = '' } = parseJson<Frame>(data);
        this.tell({ staleSinceMs: stale_since_ms, staleWhy: message });
      })(),
    );
    source.listen('bye', (data) => mine(() => this.bye(parseJson<Frame>(data)))());
  }

  // A scheduler that hangs, or a way to it that is gone, ends no connection: no frame comes, and heartbeats are hidden.
  private watch(source: Source, ms: number): void {
    this.cancelWatch?.();
    this.cancelWatch = this.around.later(ms, () => void this.check(source));
  }

  private async check(source: Source): Promise<void> {
    const left = this.heardMs + QUIET_MS - this.around.now();
    const isThere = left > 0 || (await this.around.isThere());
    if (this.source !== source || this.status.phase !== 'live') return;
    if (isThere) return this.watch(source, left > 0 ? left : QUIET_MS);
    source.close();
    this.source = null;
    this.enter('lost');
    this.comeAgain();
  }

  private frame(topic: string, data: string, lastId: string): void {
    this.heardMs = this.around.now();
    if (lastId) this.lastId = lastId;
    const known = this.known.get(topic) ?? nothingKnown(topic);
    this.known.set(topic, known);
    reduce(known, parseJson<Frame>(data));
    for (const [tab, topics] of this.tabs) if (topics.has(topic)) tab.post({ kind: 'frame', topic, data });
  }

  // STOPPING and TOO_SLOW are worth another try; a refusal is not, until somebody says so.
  private bye(frame: Frame): void {
    const error = frame.error ?? null;
    this.source?.close();
    this.source = null;
    if (error?.reason === 'STOPPING' || error?.reason === 'TOO_SLOW') {
      this.enter('lost');
      return this.comeAgain();
    }
    this.opened = [];
    this.tell({ phase: 'bye', sinceMs: this.around.now(), error });
  }

  private comeAgain(): void {
    const wait = RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)] ?? 0;
    this.gather(wait);
  }

  private enter(phase: StreamStatus['phase']): void {
    if (this.status.phase !== phase) this.tell({ phase, sinceMs: this.around.now(), error: null });
  }

  private stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
    this.cancelWatch?.();
    this.source?.close();
    this.source = null;
    this.opened = [];
    this.lastId = '';
    this.known.clear();
    this.enter('connecting');
  }

  private tell(change: Partial<StreamStatus>): void {
    this.status = { ...this.status, ...change };
    for (const tab of this.tabs.keys()) tab.post({ kind: 'status', status: this.status });
  }
}
