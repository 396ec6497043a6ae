// What the reader points at: by mouse, by keyboard, or a job in the list beside the map. Outside of React's state: it
// changes with each move of the mouse, and few want to know.
import { useSyncExternalStore } from 'react';

export interface Pointed {
  hovered: string; // the node under the mouse
  focused: string; // the node that keys have come to, or that was clicked
  job: string; // whose nodes are lit though nobody points at them
}

export class Pointing {
  private now: Pointed = { hovered: '', focused: '', job: '' };
  private readonly calls = new Set<() => void>();

  readonly read = (): Pointed => this.now;

  readonly subscribe = (call: () => void): (() => void) => {
    this.calls.add(call);
    return () => this.calls.delete(call);
  };

  set(change: Partial<Pointed>): void {
    const next = { ...this.now, ...change };
    if (next.hovered === this.now.hovered && next.focused === this.now.focused && next.job === this.now.job) return;
    this.now = next;
    this.calls.forEach((call) => call());
  }
}

export function usePointed(pointing: Pointing): Pointed {
  return useSyncExternalStore(pointing.subscribe, pointing.read);
}
