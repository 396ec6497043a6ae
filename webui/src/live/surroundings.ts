// The hub's surroundings in a browser: EventSource and timers, in a worker as in a tab.
import type { Source, Surroundings } from './hub';

function openSource(topics: string[], lastId: string): Source {
  const query = new URLSearchParams({ topics: topics.join(',') });
  if (lastId) query.set('last_event_id', lastId);
  const source = new EventSource(`/v1/stream?${query}`);
  return {
    listen: (event, call) =>
      source.addEventListener(event, (message: MessageEvent<string>) => call(message.data, message.lastEventId)),
    onOpen: (call) => source.addEventListener('open', call),
    onError: (call) => source.addEventListener('error', () => call(source.readyState === EventSource.CLOSED)),
    close: () => source.close(),
  };
}

const ANSWER_MS = 5_000;

// Any answer will do, also a refusal.
async function isThere(): Promise<boolean> {
  try {
    await fetch('/v1/version', { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) });
    return true;
  } catch {
    return false;
  }
}

export const browserSurroundings: Surroundings = {
  open: openSource,
  now: () => Date.now(),
  isThere,
  later: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};
