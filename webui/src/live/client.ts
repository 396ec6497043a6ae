// A tab's side of the stream: which topics its pages want, and what is known of them.
import { parseJson } from '../api/parse';
import { Hub, type Tab } from './hub';
import { nothingKnown, reduce, takeState, type Known } from './reduce';
import { browserSurroundings } from './surroundings';
import { FIRST_STATUS, IDLE_STATUS, type StreamStatus, type ToTab, type ToWorker } from './types';

const LINGER_MS = 20_000; // a topic that nobody looks at is kept for so long: people come back

// What is known of a topic, for React: `version` grows with each change, rows keep their identity until they change.
export interface Live extends Known {
  version: number;
}

export class LiveClient {
  private readonly topics = new Map<string, { live: Live; users: number; cancel: (() => void) | null }>();
  private readonly listeners = new Map<string, Set<() => void>>();
  private status: StreamStatus = FIRST_STATUS;
  private post: (message: ToWorker) => void = () => {};
  private lock = '';

  connect(connection: { post: (message: ToWorker) => void; lock: string }): void {
    this.post = connection.post;
    this.lock = connection.lock;
    if (this.topics.size > 0) this.sendTopics();
  }

  // The pages show `topic` from now on; the answer ends that.
  use(topic: string): () => void {
    const entry = this.topics.get(topic) ?? { live: { ...nothingKnown(topic), version: 0 }, users: 0, cancel: null };
    const isNew = !this.topics.has(topic);
    this.topics.set(topic, entry);
    entry.cancel?.();
    entry.cancel = null;
    entry.users++;
    if (isNew) this.sendTopics();
    return () => {
      if (--entry.users === 0) entry.cancel = browserSurroundings.later(LINGER_MS, () => this.forget(topic));
    };
  }

  live(topic: string): Live | null {
    return this.topics.get(topic)?.live ?? null;
  }

  subscribe(topic: string, call: () => void): () => void {
    const calls = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, calls);
    calls.add(call);
    return () => calls.delete(call);
  }

  // Of a tab that wants nothing there is nothing to tell, whatever other tabs have.
  streamStatus(): StreamStatus {
    return this.topics.size > 0 ? this.status : IDLE_STATUS;
  }

  again(): void {
    this.post({ kind: 'again' });
    this.sendTopics();
  }

  // Signed out: nothing that was known may be shown to who comes next.
  over(): void {
    this.post({ kind: 'over' });
    for (const entry of this.topics.values()) entry.cancel?.();
    this.topics.clear();
    this.status = FIRST_STATUS;
    for (const topic of this.listeners.keys()) this.tell(topic);
  }

  take(message: ToTab): void {
    if (message.kind === 'status') {
      this.status = message.status;
      return this.tell('');
    }
    const live = this.topics.get(message.topic)?.live;
    if (!live) return;
    if (message.kind === 'state') takeState(live, message.state);
    else reduce(live, parseJson(message.data));
    live.version++;
    this.tell(message.topic);
  }

  private forget(topic: string): void {
    this.topics.delete(topic);
    this.sendTopics();
  }

  private sendTopics(): void {
    this.post({ kind: 'topics', topics: [...this.topics.keys()], lock: this.lock });
    this.tell('');
  }

  private tell(topic: string): void {
    this.listeners.get(topic)?.forEach((call) => call());
  }
}

export const liveClient = new LiveClient();

// The worker where the browser has one; else a hub of this tab's own.
export function connectLive(): void {
  const lock = `glim-tab-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;
  void navigator.locks?.request(lock, () => new Promise(() => {}));
  const post = 'SharedWorker' in window ? workerPost() : ownHubPost();
  liveClient.connect({ post, lock: 'locks' in navigator ? lock : '' });
  window.addEventListener('pagehide', () => post({ kind: 'over' }));
  window.addEventListener('pageshow', (event) => event.persisted && liveClient.again());
}

function workerPost(): (message: ToWorker) => void {
  const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'glim-stream' });
  worker.port.onmessage = (event: MessageEvent<ToTab>) => liveClient.take(event.data);
  return (message) => worker.port.postMessage(message);
}

function ownHubPost(): (message: ToWorker) => void {
  const hub = new Hub(browserSurroundings);
  const tab: Tab = { post: (message) => liveClient.take(message) };
  return (message) => hub.take(tab, message);
}
