// The shared worker: one hub for all tabs of a browser. A tab that vanishes without a word lets go of its lock.
import { Hub, type Tab } from './hub';
import { browserSurroundings } from './surroundings';
import type { ToWorker } from './types';

const hub = new Hub(browserSurroundings);

function welcome(port: MessagePort): void {
  const tab: Tab = { post: (message) => port.postMessage(message) };
  const watched = new Set<string>();
  port.onmessage = (event: MessageEvent<ToWorker>) => {
    const message = event.data;
    if (message.kind === 'topics' && message.lock && !watched.has(message.lock)) {
      watched.add(message.lock);
      void navigator.locks?.request(message.lock, () => hub.leaves(tab));
    }
    hub.take(tab, message);
  };
}

self.addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0];
  if (port) welcome(port);
});
