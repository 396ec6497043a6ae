// A rank's log of one attempt by its bytes: GET /v1/jobs/ID/log reads so many from an offset or before the end, and
// says where the log begins and ends.
import { askRaw } from '../../api/raw';
import type { Int } from '../../api/int';

const TAIL = 512 << 10;

export interface Extent {
  begin: number; // what is before it was rotated away
  end: number;
}

export interface Piece extends Extent {
  from: number; // of its first byte
  bytes: Uint8Array;
}

export interface Followed {
  bytes: (bytes: Uint8Array) => void;
  over: (error: unknown) => void; // null: the attempt has ended, or the scheduler has ended the answer
}

// What a source reads from, so that tests can have another. An offset below 0 is so many bytes before the end.
export type Read = (offset: number, bytesMax: number, signal: AbortSignal) => Promise<Piece>;

export function reader(job: Int, attempt: number, rank: number): Read {
  return async (offset, bytesMax, signal) => {
    const answer = await askRaw(`/v1/jobs/${job}/log`, { rank, attempt, offset, bytes_max: bytesMax }, signal);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const told = (name: string) => Number(answer.headers.get(`Glim-Log-${name}`) ?? 0);
    const from = told('Offset');
    // An agent of an earlier release does not say where the log ends.
    return { begin: told('Begin'), end: told('End') || from + bytes.length, from, bytes };
  };
}

export class LogSource {
  constructor(
    private readonly read: Read,
    private readonly signal: AbortSignal,
  ) {}

  // Nothing where that has been rotated away since the extent was told.
  async part(offset: number, bytes: number): Promise<Uint8Array> {
    const piece = await this.read(offset, bytes, this.signal);
    return piece.from === offset ? piece.bytes : new Uint8Array();
  }

  // Where it begins and ends, and what stands at its end.
  async tail(): Promise<Piece> {
    const piece = await this.read(-TAIL, TAIL, this.signal);
    return { ...piece, end: Math.max(piece.end, piece.from + piece.bytes.length) };
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
