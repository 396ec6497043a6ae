import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LiveClient } from './client';
import { FIRST_STATUS, type ToWorker } from './types';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells nothing of the stream while the page wants no topic', () => {
  const sent: ToWorker[] = [];
  const told = vi.fn();
  const client = new LiveClient();
  client.connect({ post: (message) => sent.push(message), lock: '' });
  client.subscribe('', told);
  client.take({ kind: 'status', status: { ...FIRST_STATUS, phase: 'live' } }); // of another tab
  expect(client.streamStatus().phase).toBe('idle');
  const leave = client.use('queue');
  expect(told).toHaveBeenCalledTimes(2);
  expect(client.streamStatus().phase).toBe('live');
  leave();
  vi.advanceTimersByTime(10_000);
  expect(client.streamStatus().phase).toBe('live'); // people come back
  vi.advanceTimersByTime(15_000);
  expect(client.streamStatus().phase).toBe('idle');
  expect(sent.at(-1)).toMatchObject({ kind: 'topics', topics: [] });
});
