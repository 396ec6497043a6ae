// What a terminal would make of a line: colours as names of classes, everything else that commands it left out. Nothing
// is executed: a span is text.
export interface Span {
  text: string;
  look: string; // names with blanks between them: 'bold red'; '': plain
}

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
/* eslint-disable no-control-regex -- that is what it looks for */
// CSI sequences, OSC and other strings until their end, two-character escapes.
const ESCAPE = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;
const SGR = /^(?:\x1b\[|\x9b)([\d;:]*)m$/;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/* eslint-enable no-control-regex */
// What turns the direction of text could show a line as another one.
const TURNS = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

const hex = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

function plain(text: string): string {
  return text
    .replace(CONTROL, (letter) => {
      const code = letter.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : hex(letter);
    })
    .replace(TURNS, hex);
}

// A progress bar writes over itself: what stands at last is what counts.
function lastWritten(text: string): string {
  const trimmed = text.replace(/\r+$/, '');
  return trimmed.slice(trimmed.lastIndexOf('\r') + 1);
}

interface Look {
  colour: string;
  words: Set<string>;
}

function take(look: Look, codes: string): void {
  const numbers = codes.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) {
      look.colour = '';
      look.words.clear();
    } else if (code === 1) look.words.add('bold');
    else if (code === 2) look.words.add('faint');
    else if (code === 3) look.words.add('italic');
    else if (code === 4) look.words.add('underlined');
    else if (code >= 22 && code <= 24) takeOff(look.words, code);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) look.colour = NAMES[code % 10] ?? '';
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4;
    else if (code === 39) look.colour = '';
  }
}

function takeOff(words: Set<string>, code: number): void {
  const gone = { 22: ['bold', 'faint'], 23: ['italic'], 24: ['underlined'] }[code] ?? [];
  for (const word of gone) words.delete(word);
}

export function spansOf(line: string): Span[] {
  const text = lastWritten(line);
  if (!text.includes('\x1b') && !text.includes('\x9b')) return [{ text: plain(text), look: '' }];
  const spans: Span[] = [];
  const look: Look = { colour: '', words: new Set() };
  let from = 0;
  const push = (until: number) => {
    const part = plain(text.slice(from, until).replaceAll('\x1b', ''));
    if (part) spans.push({ text: part, look: [...look.words, look.colour].filter(Boolean).join(' ') });
  };
  for (const found of text.matchAll(ESCAPE)) {
    push(found.index);
    from = found.index + found[0].length;
    const codes = SGR.exec(found[0]);
    if (codes) take(look, codes[1] ?? '');
  }
  push(text.length);
  return spans;
}

export function textOf(line: string): string {
  return spansOf(line)
    .map((span) => span.text)
    .join('');
}

// A point in time at the beginning of a line, as loggers write it: its length and, if it says its zone, the moment.
const STAMP = /^\s*\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(Z|[+-]\d\d:?\d\d)?\]?/;

export function stampOf(text: string): { length: number; atMs: number } | null {
  const found = STAMP.exec(text);
  if (!found) return null;
  const [all, moment = '', zone] = found;
  const atMs = zone ? Date.parse(moment.replace(' ', 'T').replace(',', '.') + zone) : NaN;
  return { length: all.length, atMs: Number.isNaN(atMs) ? 0 : atMs };
}
