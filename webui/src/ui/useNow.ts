// The time, for texts that say how long ago something was: one timer for all of them.
import { useSyncExternalStore } from 'react';

const EVERY_MS = 1_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(call: () => void): () => void {
  listeners.add(call);
  timer ??= setInterval(() => {
    now = Date.now();
    listeners.forEach((one) => one());
  }, EVERY_MS);
  return () => {
    listeners.delete(call);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function read(): number {
  if (timer === null) now = Date.now() - (Date.now() % EVERY_MS);
  return now;
}

// `select` keeps a component from being rendered each second: it is, when the result is another one.
export function useNow<T>(select: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => select(read()));
}
