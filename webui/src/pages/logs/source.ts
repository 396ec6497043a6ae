// A rank's log of one attempt by its bytes: GET /v1/jobs/ID/log begins at an offset and goes on to the end. What is not
// wanted is broken off; the end is found by asking at growing offsets, since an answer says neither end nor size.
import { askRaw } from '../../api/raw';
import type { Int } from '../../api/int';
import { join } from './lines';

const PROBES = 5; // at a time: a browser has six connections
const FIRST_READ = 512 << 10;
const NEAR = 1 << 20; // so near before the end it is read through
const SAMPLE = 4 << 10;
const GUESSES = [22, 25, 28, 31, 34].map((power) => 2 ** power);
const LARGEST = 2 ** 44;

export interface Extent {
  begin: number; // what is before it was rotated away
  end: number;
}

export interface Tail extends Extent {
  from: number;
  bytes: Uint8Array; // from `from` to the end
}

export interface Followed {
  bytes: (bytes: Uint8Array) => void;
  over: (error: unknown) => void; // null: the attempt has ended, or the scheduler has ended the answer
}

// What a source reads from, so that tests can have another.
export type Read = (
  offset: number,
  bytesMax: number,
  signal: AbortSignal,
) => Promise<{ bytes: Uint8Array; end: boolean }>;

export function reader(job: Int, attempt: number, rank: number): Read {
  return async (offset, bytesMax, signal) => {
    const stop = new AbortController();
    try {
      const query = { rank, attempt, offset };
      const answer = await askRaw(`/v1/jobs/${job}/log`, query, AbortSignal.any([signal, stop.signal]));
      const parts: Uint8Array[] = [];
      let size = 0;
      const body = answer.body?.getReader();
      while (body && size < bytesMax) {
        const { value, done } = await body.read();
        if (done) return { bytes: join(parts).subarray(0, bytesMax), end: size <= bytesMax };
        parts.push(value);
        size += value.length;
      }
      return { bytes: join(parts).subarray(0, bytesMax), end: false };
    } finally {
      stop.abort();
    }
  };
}

// The smallest span (low, high] of at most `near` in which `isBehind` becomes true; it is not at `low`.
async function border(low: number, high: number, near: number, isBehind: (at: number) => Promise<boolean>) {
  while (high - low > near) {
    const step = (high - low) / (PROBES + 1);
    const at = Array.from({ length: PROBES }, (_, i) => Math.floor(low + step * (i + 1))).filter(
      (one, i, all) => one > low && one < high && one !== all[i - 1],
    );
    if (at.length === 0) break;
    const behind = await Promise.all(at.map(isBehind));
    const first = behind.indexOf(true);
    if (first >= 0) high = at[first] ?? high;
    if (first !== 0) low = at[(first < 0 ? at.length : first) - 1] ?? low;
  }
  return { low, high };
}

const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, at) => byte === b[at]);

export class LogSource {
  constructor(
    private readonly read: Read,
    private readonly signal: AbortSignal,
  ) {}

  async part(offset: number, bytes: number): Promise<Uint8Array> {
    return (await this.read(offset, bytes, this.signal)).bytes;
  }

  // Where it ends, and what stands there: one request for a short log.
  async tail(): Promise<Tail> {
    const first = await this.read(0, FIRST_READ, this.signal);
    if (first.end && (first.bytes.length === 0 || (await this.isBehind(first.bytes.length)))) {
      return { begin: 0, from: 0, end: first.bytes.length, bytes: first.bytes };
    }
    let low = first.bytes.length;
    let high = LARGEST;
    const behind = await Promise.all(GUESSES.map((at) => this.isBehind(at)));
    const at = behind.indexOf(true);
    if (at >= 0) high = GUESSES[at] ?? high;
    low = Math.max(low, GUESSES[(at < 0 ? GUESSES.length : at) - 1] ?? 0);
    const near = first.end ? 1 : NEAR;
    ({ low, high } = await border(low, high, near, (at) => this.isBehind(at)));
    if (first.end) {
      // All that is left of a log that was rotated: its end says where it begins.
      const begin = high - first.bytes.length;
      return { begin, from: begin, end: high, bytes: first.bytes };
    }
    const { bytes } = await this.read(low, Infinity, this.signal);
    return { begin: 0, from: low, end: low + bytes.length, bytes };
  }

  // Where what is left of it begins: asked before that it answers with the same.
  async begin(end: number): Promise<number> {
    const sample = await this.part(0, SAMPLE);
    const isAt = async (at: number) => same(await this.part(at, SAMPLE), sample);
    if (sample.length < SAMPLE || !(await isAt(1))) return 0;
    const { low } = await border(0, end, 1, async (at) => !(await isAt(at)));
    return low;
  }

  private async isBehind(offset: number): Promise<boolean> {
    return (await this.read(offset, 1, this.signal)).bytes.length === 0;
  }
}

// What is written from now on, until `signal` says that nobody wants it.
export async function follow(
  job: Int,
  attempt: number,
  rank: number,
  offset: number,
  signal: AbortSignal,
  to: Followed,
): Promise<void> {
  try {
    const answer = await askRaw(`/v1/jobs/${job}/log`, { rank, attempt, offset, follow: true }, signal);
    const body = answer.body?.getReader();
    for (;;) {
      const part = await body?.read();
      if (!part || part.done) return to.over(null);
      to.bytes(part.value);
    }
  } catch (thrown) {
    if (!signal.aborted) to.over(thrown);
  }
}
