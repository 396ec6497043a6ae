import { describe, expect, it } from 'vitest';
import { spansOf, stampOf, textOf } from './ansi';
import { chosenRanks, targetOf, targetText } from './attempts';
import { around, cutLines, LINE_MAX, splitBy } from './lines';
import { LogPane } from './logPane';
import { errorLineOf } from './queries';
import { LogSource, type Followed, type Read } from './source';
import type { LogAttempt } from './types';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const signal = new AbortController().signal;

describe('a line as a terminal shows it', () => {
  it('has colours as names, and no escapes', () => {
    const line = '\x1b[1;31mbad\x1b[0m \x1b]0;title\x07plain\x1b[2J\x1b[38;5;200mmany\x1b[48;2;1;2;3m\x1b[39m';
    expect(spansOf(line)).toEqual([
      { text: 'bad', look: 'bold red' },
      { text: ' ', look: '' },
      { text: 'plain', look: '' },
      { text: 'many', look: '' },
    ]);
  });
  it('shows what would hide or turn text, and the last of what is written over', () => {
    expect(textOf('a\x00b\x08\u202ec')).toBe('a\u2400b\u2408\\u202ec');
    expect(textOf('10%\r50%\r100%\r')).toBe('100%');
    expect(textOf('cut \x1b[3')).toBe('cut 3');
    expect(textOf('a\tb')).toBe('a\tb');
  });
  it('has a time where it begins with one', () => {
    expect(stampOf('2026-11-23T12:00:00.5Z x')).toEqual({ length: 22, atMs: Date.UTC(2026, 10, 23, 12, 0, 0, 500) });
    expect(stampOf('[2026-11-23 12:00:00,123] x')).toEqual({ length: 25, atMs: 0 });
    expect(stampOf('step 2026-11-23')).toBeNull();
  });
  it('is split by a word', () => {
    expect(splitBy('a NaN b nan', 'nan', true)).toEqual(['a ', 'NaN', ' b ', 'nan', '']);
    expect(splitBy('a NaN b', 'nan', false)).toEqual(['a NaN b']);
    expect(around(`${'x'.repeat(100)} nan y`, 'nan', true)).toBe(`… ${'x'.repeat(31)} nan y`);
    expect(around('x'.repeat(100), 'nan', true)).toBe('x'.repeat(100));
    expect(splitBy('İ nan', 'nan', true)).toEqual(['İ nan']); // lower case has another length
  });
});

describe('lines', () => {
  it('have the offsets of their bytes, and the last waits for its end', () => {
    const { lines, rest } = cutLines(bytesOf('ä\nb\n\nhalf'), 10, 1, false);
    expect(lines.map(({ text, offset, end }) => [text, offset, end])).toEqual([
      ['ä', 10, 13],
      ['b', 13, 15],
      ['', 15, 16],
    ]);
    expect(rest).toBe(16);
    expect(cutLines(bytesOf('half'), 16, 1, true).lines[0]).toMatchObject({ text: 'half', end: 20 });
  });
  it('are cut where they are too long, and no character is', () => {
    const { lines } = cutLines(bytesOf(`x${'ä'.repeat(LINE_MAX)}\n`), 0, 1, false);
    expect(lines.slice(0, -1).every((line) => line.cut)).toBe(true);
    expect(lines.map((line) => line.text).join('')).toBe(`x${'ä'.repeat(LINE_MAX)}`);
  });
});

// A log of so many bytes, of which the first were rotated away; counts what is asked.
function fake(text: string, begin = 0) {
  const bytes = bytesOf(text);
  const asked: number[] = [];
  const end = begin + bytes.length;
  const read: Read = (offset, max) => {
    asked.push(offset);
    const from = Math.max(offset < 0 ? end + offset : offset, begin);
    return Promise.resolve({ begin, end, from, bytes: bytes.subarray(from - begin, from - begin + max) });
  };
  return { read, asked, end };
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1} of many more\n`).join('');

describe('a source', () => {
  it('reads a short log at once', async () => {
    const { read, asked } = fake('one\ntwo\n');
    const tail = await new LogSource(read, signal).tail();
    expect(tail).toMatchObject({ begin: 0, from: 0, end: 8 });
    expect(asked.length).toBe(1);
  });
  it('reads the end of a long one, and of one that was rotated', async () => {
    for (const begin of [0, 123_456_789]) {
      const log = fake(numbered(400_000), begin);
      const tail = await new LogSource(log.read, signal).tail();
      expect(tail).toMatchObject({ begin, end: log.end });
      expect(tail.from + tail.bytes.length).toBe(log.end);
      expect(tail.bytes.length).toBeLessThanOrEqual(1 << 20);
      expect(log.asked.length).toBe(1);
    }
  });
  it('has nothing of what was rotated away', async () => {
    const source = new LogSource(fake('one\ntwo\n', 100).read, signal);
    expect((await source.part(50, 10)).length).toBe(0);
    expect((await source.part(104, 10)).length).toBe(4);
  });
});

describe('a pane', () => {
  const over = (number: number): LogAttempt => ({ number, live: false, starting: false });
  const make = (attempts: LogAttempt[], texts: Record<number, string>) => {
    const follows: { attempt: number; offset: number; to: Followed }[] = [];
    const pane = new LogPane(attempts, {
      reader: (attempt) => fake(texts[attempt] ?? '').read,
      follow: (attempt, offset, _signal, to) => follows.push({ attempt, offset, to }),
      later: () => () => {},
    });
    const shown = () => pane.items.map((item) => (item.kind === 'line' ? item.text : `${item.what} ${item.attempt}`));
    return { pane, follows, shown };
  };

  it('joins attempts with marks', async () => {
    const { pane, shown } = make([over(1), over(2)], { 1: 'a\nb', 2: 'c\n' });
    await pane.openEnd();
    expect(shown()).toEqual(['began 2', 'c', 'ended 2']);
    const base = pane.base;
    await pane.more('up');
    expect(shown()).toEqual(['began 1', 'a', 'b', 'ended 1', 'began 2', 'c', 'ended 2']);
    expect(base - pane.base).toBe(4);
    await pane.openBegin(1);
    await pane.more('down');
    expect(shown()).toEqual(['began 1', 'a', 'b', 'ended 1', 'began 2', 'c', 'ended 2']);
  });
  it('follows, shows a line before it has its end, and goes on with the next attempt', async () => {
    const { pane, follows, shown } = make([{ number: 1, live: true, starting: false }], { 1: 'a\nhal' });
    await pane.openEnd();
    expect(shown()).toEqual(['began 1', 'a', 'hal']);
    expect(follows[0]).toMatchObject({ attempt: 1, offset: 5 });
    follows[0]?.to.bytes(bytesOf('f\nnext\n'));
    expect(shown()).toEqual(['began 1', 'a', 'half', 'next']);
    follows[0]?.to.over(null);
    pane.setAttempts([over(1), { number: 2, live: true, starting: true }]);
    await new Promise((done) => setTimeout(done, 10));
    expect(shown()).toEqual(['began 1', 'a', 'half', 'next', 'ended 1', 'began 2']);
    expect(follows[1]).toMatchObject({ attempt: 2, offset: 0 });
  });
  it('goes to a line of a long log', async () => {
    const text = numbered(400_000);
    const { pane } = make([over(1)], { 1: text });
    const offset = text.indexOf('line 200000 ');
    await pane.openAt({ attempt: 1, offset });
    const at = pane.indexOf({ attempt: 1, offset });
    expect(pane.items[at]).toMatchObject({ text: 'line 200000 of many more', offset });
    expect(pane.items.length).toBeLessThan(20_000);
  });
});

describe('the address', () => {
  it('says which ranks and which line', () => {
    expect(chosenRanks('3,0,3,9,x', 8)).toEqual([3, 0]);
    expect(chosenRanks('', 8)).toEqual([0]);
    const target = { rank: 3, attempt: 2, offset: 812 };
    expect(targetOf(targetText(target))).toEqual(target);
    expect(targetOf('3.2')).toBeNull();
  });
});

describe('a traceback', () => {
  it('ends with what was raised', () => {
    const lines = ['Traceback (most recent call last):', '  File "x.py", line 1', '    f()', 'ValueError: no', 'later'];
    expect(errorLineOf(lines.map((text) => ({ text })))).toBe('ValueError: no');
  });
});
