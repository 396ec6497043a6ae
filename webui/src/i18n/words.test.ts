// Both languages have the same keys and placeholders, nothing is left untranslated, and the code names no other keys.
import { describe, expect, it } from 'vitest';

type Words = { [key: string]: string | Words };
const files = import.meta.glob<{ default: Words }>(['./words.*.json', '../pages/*/words.*.json'], { eager: true });
const sources = import.meta.glob<string>('../**/*.{ts,tsx}', { eager: true, query: '?raw', import: 'default' });
const PLURAL = /_(zero|one|two|few|many|other)$/;
// Texts that are the same in both languages.
const SAME = /^(Glim|GPU|[\d\s{}a-z./:-]*)$/;

function flat(words: Words, before = ''): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [key, value] of Object.entries(words)) {
    if (typeof value === 'string') all[before + key] = value;
    else Object.assign(all, flat(value, `${before}${key}.`));
  }
  return all;
}

const spaceOf = (path: string) => (path.startsWith('./') ? 'common' : path.split('/')[2]) ?? '';

function spaces(language: string): Map<string, Record<string, string>> {
  const found = Object.entries(files).filter(([path]) => path.endsWith(`.${language}.json`));
  return new Map(found.map(([path, { default: words }]) => [spaceOf(path), flat(words)]));
}

const en = spaces('en');
const zh = spaces('zh');
const single = (words: Record<string, string> | undefined) =>
  [...new Set(Object.keys(words ?? {}).map((key) => key.replace(PLURAL, '')))].sort();
const holes = (text: string) => [...text.matchAll(/{{(\w+)/g)].map(([, name]) => name).sort();

describe.each([...en.keys()])('the words of %s', (space) => {
  it('have the same keys in both languages', () => {
    expect(single(zh.get(space))).toEqual(single(en.get(space)));
  });
  it('are translated, with the same placeholders', () => {
    for (const [key, text] of Object.entries(zh.get(space) ?? {})) {
      const english = en.get(space)?.[key] ?? '';
      expect(text.trim(), key).not.toBe('');
      if (!PLURAL.test(key)) expect(holes(text), key).toEqual(holes(english));
      if (!SAME.test(text)) expect(text, `${key} has no Chinese`).toMatch(/\p{Script=Han}/u);
    }
  });
});

describe('the code', () => {
  const known = (space: string, key: string) => {
    const words = en.get(space) ?? {};
    return key in words || `${key}_other` in words;
  };
  it.each(Object.keys(sources).filter((path) => path.endsWith('.tsx')))('%s names keys that there are', (path) => {
    const text = sources[path] ?? '';
    const used = [...text.matchAll(/useTranslation\('(\w+)'\)/g)].map(([, space]) => space ?? '');
    const here = [/pages\/(\w+)\//.exec(path)?.[1] ?? 'common', ...used];
    for (const [, named] of text.matchAll(/\bt\(\s*'([^'$]+)'/g)) {
      const [first, rest] = (named ?? '').split(':');
      const there = rest ? known(first ?? '', rest) : here.some((one) => known(one, first ?? ''));
      expect(there, `${named} of ${path}`).toBe(true);
    }
  });
});
