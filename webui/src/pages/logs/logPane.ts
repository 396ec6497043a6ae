// What one pane shows of a rank's logs: a window of lines that grows where it is scrolled to, over all attempts, with a
// mark where one begins and where it ends. Nothing here draws; the view subscribes.
import { asApiError, type ApiError } from '../../api/error';
import { cutLines, firstLineIn, join } from './lines';
import { LogSource, type Piece } from './source';
import type { Item, LogAttempt, Mark, Place, Surroundings } from './types';

export const PART = 256 << 10;
const BEFORE_TARGET = 32 << 10;
export const ITEMS_MAX = 30_000;
const AGAIN_MS = 2_000;

interface Known {
  source: LogSource;
  begin: number;
  end: number;
}

export class LogPane {
  items: Item[] = [];
  base = 0; // the number of items[0], counted from where the pane was opened
  version = 0;
  opened = 0; // grows with each opening
  goal: Place | null = null; // what it was opened for; null: the end
  busy = true;
  error: ApiError | null = null;
  follows = false; // what is written comes by itself
  private top: Place = { attempt: 0, offset: 0 };
  private bottom: Place = { attempt: 0, offset: 0 };
  private atTop = false;
  private atBottom = false; // of the last attempt, which has ended
  private attemptsChanged = false;
  private wantsFollow = true;
  private known = new Map<number, Known>();
  private pending = new Uint8Array(); // the last line's bytes, as long as it has no end
  private stop = new AbortController();
  private stopFollow: AbortController | null = null;
  private cancelAgain: (() => void) | null = null;
  private readonly calls = new Set<() => void>();

  constructor(
    private attempts: LogAttempt[],
    private readonly around: Surroundings,
  ) {}

  readonly subscribe = (call: () => void): (() => void) => {
    this.calls.add(call);
    return () => this.calls.delete(call);
  };
  readonly read = (): number => this.version;

  // At the end of the newest attempt's log, or of this one's.
  openEnd(attempt?: number): Promise<void> {
    return this.begin(null, async (signal) => {
      const newest = this.attempts.at(-1);
      const number = attempt ?? newest?.number;
      if (number === undefined) return;
      if (number === newest?.number && newest.starting) return this.setStarting(number, signal);
      const tail = await this.tailOf(number, signal);
      if (tail) this.setWindow(number, tail.from, tail.bytes);
      else this.setMarks(number);
      await this.bottomReached(signal);
    });
  }

  openAt(place: Place): Promise<void> {
    return this.begin(place, async (signal) => {
      const tail = await this.tailOf(place.attempt, signal);
      const known = this.known.get(place.attempt);
      if (!tail || !known) return this.setMarks(place.attempt);
      const begin = this.beginOf(place.attempt);
      const from = Math.max(begin, Math.min(place.offset, tail.end) - BEFORE_TARGET);
      this.setWindow(place.attempt, from, await known.source.part(from, PART));
      await this.bottomReached(signal);
    });
  }

  openBegin(attempt: number): Promise<void> {
    return this.openAt({ attempt, offset: 0 });
  }

  more(where: 'up' | 'down'): Promise<void> {
    if (this.busy || (where === 'up' ? this.atTop : this.hasNoMore())) return Promise.resolve();
    this.busy = true;
    const signal = this.stop.signal;
    return this.run(signal, () => (where === 'up' ? this.up(signal) : this.down(signal)));
  }

  private hasNoMore(): boolean {
    const { attempt } = this.bottom;
    const live = this.attempts.find((one) => one.number === attempt)?.live ?? false;
    const isAtEnd = this.readTo >= (this.known.get(attempt)?.end ?? 0);
    return this.atBottom || this.stopFollow !== null || (live && isAtEnd && !this.wantsFollow);
  }

  setFollow(wanted: boolean): void {
    this.wantsFollow = wanted;
    if (!wanted) this.endFollow();
    else if (!this.busy) void this.more('down');
    this.tell();
  }

  // What the job says of its attempts now.
  setAttempts(attempts: LogAttempt[]): void {
    this.attempts = attempts;
    this.attemptsChanged = this.busy;
    if (this.busy || attempts.length === 0) return;
    if (this.items.length === 0) return void this.openEnd();
    const here = attempts.find((one) => one.number === this.bottom.attempt);
    const newer = attempts.some((one) => one.number > this.bottom.attempt);
    if (newer) this.atBottom = false;
    if (newer || !here?.live) void this.more('down');
  }

  close(): void {
    this.stop.abort();
    this.endFollow();
    this.cancelAgain?.();
  }

  // Of the line that has this byte; -1: it is not in the window.
  indexOf({ attempt, offset }: Place): number {
    return this.items.findIndex((item) => item.kind === 'line' && item.attempt === attempt && item.end > offset);
  }

  extentOf(attempt: number): { begin: number; end: number } {
    const known = this.known.get(attempt);
    const end = attempt === this.bottom.attempt ? this.readTo : 0;
    return { begin: known?.begin ?? 0, end: Math.max(known?.end ?? 0, end) };
  }

  private begin(goal: Place | null, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.goal = goal;
    this.opened++;
    this.stop.abort();
    this.endFollow();
    this.stop = new AbortController();
    this.known.clear();
    this.items = [];
    this.base = 0;
    this.atTop = false;
    this.atBottom = false;
    this.pending = new Uint8Array();
    this.busy = true;
    this.tell();
    const signal = this.stop.signal;
    return this.run(signal, () => task(signal));
  }

  private async run(signal: AbortSignal, task: () => Promise<void>): Promise<void> {
    try {
      await task();
      if (!signal.aborted) this.error = null;
    } catch (thrown) {
      if (signal.aborted) return;
      this.error = asApiError(thrown);
      if (this.error.isUnreachable) this.again();
    }
    if (signal.aborted) return;
    this.busy = false;
    this.tell();
    if (this.attemptsChanged) this.setAttempts(this.attempts);
  }

  private again(): void {
    this.cancelAgain?.();
    this.cancelAgain = this.around.later(AGAIN_MS, () => {
      if (this.items.length === 0) void this.openEnd();
      else void this.more('down');
    });
  }

  // null: nothing is left of it, or it never wrote.
  private async tailOf(attempt: number, signal: AbortSignal): Promise<Piece | null> {
    const source = new LogSource(this.around.reader(attempt), signal);
    try {
      const tail = await source.tail();
      this.known.set(attempt, { source, begin: tail.begin, end: tail.end });
      return tail;
    } catch (thrown) {
      if (asApiError(thrown).isMissing && !signal.aborted) return null;
      throw thrown;
    }
  }

  private beginOf(attempt: number): number {
    return this.known.get(attempt)?.begin ?? 0;
  }

  private setMarks(attempt: number): void {
    this.items = [{ kind: 'mark', attempt, what: 'noLog' }];
    this.top = this.bottom = { attempt, offset: 0 };
  }

  // What has just begun may have no log yet, and asking for it is refused: following waits for it.
  private setStarting(attempt: number, signal: AbortSignal): void {
    this.known.set(attempt, { source: new LogSource(this.around.reader(attempt), signal), begin: 0, end: 0 });
    this.items = [...this.items, beginMark(attempt, 0)];
    this.bottom = { attempt, offset: 0 };
    if (this.top.attempt === 0) this.top = this.bottom;
    this.beginFollow();
  }

  private setWindow(attempt: number, from: number, bytes: Uint8Array): void {
    const isBegin = from === this.beginOf(attempt);
    const skip = isBegin ? 0 : firstLineIn(bytes);
    this.top = { attempt, offset: from + skip };
    this.bottom = { attempt, offset: from + skip };
    if (isBegin) this.items = [beginMark(attempt, from)];
    this.append(bytes.subarray(skip));
  }

  // Bytes at the bottom's offset. A line without an end is shown, and made anew when more of it comes.
  private append(bytes: Uint8Array): void {
    const last = this.items.at(-1);
    const open = this.pending.length > 0 && last?.kind === 'line';
    const kept = open ? this.items.slice(0, -1) : this.items;
    const all = join([this.pending, bytes]);
    const { attempt, offset } = this.bottom;
    const { lines, rest } = cutLines(all, offset, attempt, false);
    this.pending = all.slice(rest - offset);
    this.bottom = { attempt, offset: rest };
    if (this.pending.length > 0) lines.push(...cutLines(this.pending, rest, attempt, true).lines);
    this.items = kept.concat(lines);
    this.trim('front');
  }

  private get readTo(): number {
    return this.bottom.offset + this.pending.length;
  }

  private trim(side: 'front' | 'back'): void {
    const many = this.items.length - ITEMS_MAX;
    if (many <= 0) return;
    if (side === 'front') {
      const gone = many + ITEMS_MAX / 4;
      this.items = this.items.slice(gone);
      this.base += gone;
      const first = this.items.find((item) => item.kind === 'line');
      if (first) this.top = { attempt: first.attempt, offset: first.offset };
      this.atTop = false;
    } else {
      this.endFollow();
      this.items = this.items.slice(0, ITEMS_MAX);
      const last = this.items.findLast((item) => item.kind === 'line');
      if (last) this.bottom = { attempt: last.attempt, offset: last.end };
      this.pending = new Uint8Array();
    }
  }

  private prepend(items: Item[]): void {
    this.items = items.concat(this.items);
    this.base -= items.length;
    this.trim('back');
  }

  private async up(signal: AbortSignal): Promise<void> {
    const { attempt, offset } = this.top;
    if (!this.known.has(attempt)) await this.tailOf(attempt, signal);
    const begin = this.beginOf(attempt);
    if (offset > begin) return this.upTo(attempt, begin, offset);
    const before = this.attempts.filter((one) => one.number < attempt).at(-1);
    if (!before) {
      this.atTop = true;
      return;
    }
    const tail = await this.tailOf(before.number, signal);
    const end: Mark = { kind: 'mark', attempt: before.number, what: 'ended' };
    if (!tail) {
      this.top = { attempt: before.number, offset: 0 };
      return this.prepend([{ kind: 'mark', attempt: before.number, what: 'noLog' }, end]);
    }
    const skip = tail.from === tail.begin ? 0 : firstLineIn(tail.bytes);
    const { lines } = cutLines(tail.bytes.subarray(skip), tail.from + skip, before.number, true);
    this.top = { attempt: before.number, offset: tail.from + skip };
    const began = tail.from === tail.begin ? [beginMark(before.number, tail.begin)] : [];
    this.prepend([...began, ...lines, end]);
  }

  private async upTo(attempt: number, begin: number, offset: number): Promise<void> {
    const from = Math.max(begin, offset - PART);
    const bytes = (await this.known.get(attempt)?.source.part(from, offset - from)) ?? new Uint8Array();
    const skip = from === begin ? 0 : firstLineIn(bytes);
    const start = skip === bytes.length ? 0 : skip; // a line longer than a part is shown in parts
    const { lines } = cutLines(bytes.subarray(start), from + start, attempt, true);
    this.top = { attempt, offset: from + start };
    this.prepend([...(from === begin ? [beginMark(attempt, begin)] : []), ...lines]);
  }

  private async down(signal: AbortSignal): Promise<void> {
    const known = this.known.get(this.bottom.attempt);
    if (known && this.readTo < known.end) {
      this.append(await known.source.part(this.readTo, PART));
      if (this.readTo < known.end) return;
    }
    await this.bottomReached(signal);
  }

  // At the end of an attempt's log as it was known: more of it, its end and the next one, or what comes from now on.
  private async bottomReached(signal: AbortSignal): Promise<void> {
    for (;;) {
      const here = this.attempts.find((one) => one.number === this.bottom.attempt);
      const known = this.known.get(this.bottom.attempt);
      if (known && this.readTo < known.end) return;
      if (here?.live) return this.beginFollow();
      if (known) {
        const rest = await known.source.part(this.readTo, PART);
        if (rest.length > 0) {
          this.append(rest);
          known.end = Math.max(known.end, this.readTo);
          if (rest.length === PART) return;
        }
      }
      this.markEnd();
      if (!(await this.nextAttempt(signal))) return;
    }
  }

  private markEnd(): void {
    const last = this.items.at(-1);
    if (!last || (last.kind === 'mark' && last.what === 'ended')) return;
    if (this.attempts.find((one) => one.number === this.bottom.attempt)?.live !== false) return;
    this.bottom = { ...this.bottom, offset: this.readTo };
    this.pending = new Uint8Array();
    this.items = [...this.items, { kind: 'mark', attempt: this.bottom.attempt, what: 'ended' }];
  }

  private async nextAttempt(signal: AbortSignal): Promise<boolean> {
    const next = this.attempts.find((one) => one.number > this.bottom.attempt);
    this.atBottom = !next;
    if (!next) return false;
    if (next.live) return (this.setStarting(next.number, signal), false);
    const tail = await this.tailOf(next.number, signal);
    const begin = tail ? this.beginOf(next.number) : 0;
    const mark: Mark = tail ? beginMark(next.number, begin) : { kind: 'mark', attempt: next.number, what: 'noLog' };
    this.bottom = { attempt: next.number, offset: begin };
    this.items = [...this.items, mark];
    const known = this.known.get(next.number);
    if (tail && known) this.append(await known.source.part(begin, PART));
    return true;
  }

  private beginFollow(): void {
    if (!this.wantsFollow || this.stopFollow) return;
    const stop = new AbortController();
    this.stopFollow = stop;
    this.follows = true;
    const over = (error: unknown) => {
      if (this.stopFollow !== stop) return;
      this.endFollow();
      this.error = error ? asApiError(error) : null;
      this.again();
      this.tell();
    };
    const bytes = (part: Uint8Array) => {
      if (this.stopFollow !== stop) return;
      this.error = null;
      this.append(part);
      const known = this.known.get(this.bottom.attempt);
      if (known) known.end = Math.max(known.end, this.readTo);
      this.tell();
    };
    this.around.follow(this.bottom.attempt, this.readTo, stop.signal, { bytes, over });
  }

  private endFollow(): void {
    this.stopFollow?.abort();
    this.stopFollow = null;
    this.follows = false;
  }

  private tell(): void {
    this.version++;
    this.calls.forEach((call) => call());
  }
}

function beginMark(attempt: number, begin: number): Mark {
  return { kind: 'mark', attempt, what: begin > 0 ? 'rotated' : 'began' };
}
