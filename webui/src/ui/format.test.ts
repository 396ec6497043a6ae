import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatDuration,
  formatGpuHours,
  formatMoment,
  formatNumber,
  formatPercent,
  formatRelative,
} from './format';

const plain = (text: string) => text.replace(/[\u202f\u00a0]/g, ' ');

describe('formats', () => {
  it('shows all digits of large integers', () => {
    expect(formatNumber(18446744073709551615n, 'en')).toBe('18,446,744,073,709,551,615');
  });
  it('says how far away a moment is', () => {
    const at = (ms: number, language = 'en') => plain(formatRelative(1e12 + ms, 1e12, language));
    expect(at(-185_000)).toBe('3 min. ago');
    expect(at(2 * 3_600_000)).toBe('in 2 hr.');
    expect(at(-300)).toBe('now');
    expect(at(-3_600_000, 'zh')).toBe('1小时前');
  });
  it('says a moment with its zone', () => {
    expect(plain(formatMoment(0, 'en'))).toMatch(/1970|1969/);
  });
  it('says durations in two units', () => {
    expect(formatDuration(340, 'en')).toBe('340 ms');
    expect(formatDuration(4_250, 'en')).toBe('4.3 sec');
    expect(formatDuration(7_500_000, 'en')).toBe('2 hr 5 min');
    expect(formatDuration(86_400_000, 'en')).toBe('1 day');
    expect(formatDuration(7_500_000, 'zh')).toBe('2小时 5分钟');
  });
  it('says amounts', () => {
    expect(formatBytes(1536, 'en')).toBe('1.5 KiB');
    expect(formatBytes(12, 'en')).toBe('12 B');
    expect(formatGpuHours(3_600_000 * 2.5, 'en')).toBe('2.5');
    expect(formatPercent(0.1234, 'en')).toBe('12.3%');
  });
});
