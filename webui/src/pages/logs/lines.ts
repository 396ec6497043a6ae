// A log's lines by their offsets, cut out of parts of it as they are read.
export interface Line {
  kind: 'line';
  attempt: number;
  offset: number; // of its first byte
  end: number; // behind its last one, its line's end among them
  text: string;
  cut: boolean; // it goes on in the next one: it is too long for one
}

export const LINE_MAX = 16 << 10;
const NEWLINE = 10;
const decoder = new TextDecoder();

export interface Cut {
  lines: Line[];
  rest: number; // the offset of what has no end yet
}

// `from`: the offset of the first byte. `whole`: what stands behind the last line's end is a line, too.
export function cutLines(bytes: Uint8Array, from: number, attempt: number, whole: boolean): Cut {
  const lines: Line[] = [];
  let at = 0;
  while (at < bytes.length) {
    const found = bytes.indexOf(NEWLINE, at);
    const last = found < 0;
    const until = last ? bytes.length : found;
    if (until - at > LINE_MAX) {
      const stop = characterStart(bytes, at + LINE_MAX);
      lines.push(lineOf(bytes, at, stop, stop, from, attempt, true));
      at = stop;
      continue;
    }
    if (last && !whole) break;
    const end = last ? until : until + 1;
    lines.push(lineOf(bytes, at, until, end, from, attempt, false));
    at = end;
  }
  return { lines, rest: from + at };
}

function lineOf(
  bytes: Uint8Array,
  at: number,
  until: number,
  end: number,
  from: number,
  attempt: number,
  cut: boolean,
): Line {
  const text = decoder.decode(bytes.subarray(at, until));
  return { kind: 'line', attempt, offset: from + at, end: from + end, text, cut };
}

// No character of UTF-8 is cut in two.
function characterStart(bytes: Uint8Array, at: number): number {
  let start = at;
  while (start > at - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}

// Where the first line begins that begins in these bytes; their end if none does.
export function firstLineIn(bytes: Uint8Array): number {
  const found = bytes.indexOf(NEWLINE);
  return found < 0 ? bytes.length : found + 1;
}

export function join(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const BEFORE_WORD = 32;

// The end of a line in which the word is seen at once.
export function around(text: string, word: string, ignoreCase: boolean): string {
  const before = splitBy(text, word, ignoreCase)[0]?.length ?? 0;
  return before > 2 * BEFORE_WORD && before < text.length ? `… ${text.slice(before - BEFORE_WORD)}` : text;
}

// The piece of the text that `word` is in, for showing it: [before, word, after] over and over.
export function splitBy(text: string, word: string, ignoreCase: boolean): string[] {
  if (!word) return [text];
  const hay = ignoreCase ? text.toLowerCase() : text;
  const needle = ignoreCase ? word.toLowerCase() : word;
  if (hay.length !== text.length) return [text];
  const parts: string[] = [];
  let from = 0;
  for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + needle.length));
    from = at + needle.length;
  }
  parts.push(text.slice(from));
  return parts;
}
