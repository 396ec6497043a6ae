// The time that is looked at: so long until now, or from a day to a day in the reader's zone. Pure.
export const PRESETS = ['24h', '7d', '30d', 'all'] as const;
export type Preset = (typeof PRESETS)[number];
export const DEFAULT_PRESET: Preset = '7d';

const HOUR_MS = 3_600_000;
const LENGTHS: Record<Preset, number> = { '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS, '30d': 720 * HOUR_MS, all: 0 };

export interface RangeWords {
  range: string;
  from: string; // 2026-11-01
  to: string; // that day too
}

export interface Range {
  sinceMs: number; // 0: all that is kept
  untilMs: number; // 0: now
}

export function presetOf({ range, from, to }: RangeWords): Preset | null {
  if (from || to) return null;
  return PRESETS.find((one) => one === range) ?? DEFAULT_PRESET;
}

// The first moment of a day, or of the next one; 0: that is no day.
function dayMs(text: string, next: boolean): number {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return 0;
  const day = new Date(`${text}T00:00`);
  if (next) day.setDate(day.getDate() + 1);
  return day.getTime() || 0;
}

export function rangeOf(words: RangeWords, nowMs: number): Range {
  const preset = presetOf(words);
  if (preset === null) return { sinceMs: dayMs(words.from, false), untilMs: dayMs(words.to, true) };
  return { sinceMs: preset === 'all' ? 0 : nowMs - LENGTHS[preset], untilMs: 0 };
}

const moment = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;

// As the command line says it.
export function rangeFlags(words: RangeWords): string {
  const preset = presetOf(words);
  if (preset !== null) return `--since ${preset === 'all' ? '3650d' : preset}`;
  const { sinceMs, untilMs } = rangeOf(words, 0);
  const since = sinceMs ? `--since ${moment(sinceMs)}` : '--since 3650d';
  return untilMs ? `${since} --until ${moment(untilMs)}` : since;
}
