import { describe, expect, it } from 'vitest';
import { parseId } from './int';
import { parseJson, writeJson } from './parse';

describe('numbers of the API', () => {
  it('keeps each digit of 64-bit integers', () => {
    const text = '{"id":18446744073709551615,"small":7,"list":[9007199254740993,-9223372036854775808],"share":0.25}';
    const read = parseJson<Record<string, unknown>>(text);
    expect(read).toEqual({ id: 2n ** 64n - 1n, small: 7, list: [9007199254740993n, -(2n ** 63n)], share: 0.25 });
    expect(writeJson(read)).toBe(text);
  });

  it('reads the largest safe integers and long fractions as numbers', () => {
    expect(parseJson('{"a":9007199254740991,"b":0.1234567890123456789}')).toEqual({
      a: 9007199254740991,
      b: 0.12345678901234568,
    });
  });

  it('takes times as numbers, as their type says', () => {
    expect(parseJson('{"at_ms":9223372036854775807}')).toEqual({ at_ms: 2 ** 63 });
  });

  it('reads ids of addresses', () => {
    expect(parseId('812')).toBe(812);
    expect(parseId('18446744073709551615')).toBe(2n ** 64n - 1n);
    for (const wrong of ['', '-1', '1.5', 'x', undefined]) expect(parseId(wrong)).toBeNull();
  });
});
