// Numbers, times and amounts in the reader's language and zone: Intl does all of it.
import type { Int } from '../api/int';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * DAY],
  ['month', 30 * DAY],
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
];
const made = new Map<string, unknown>();

// Intl's formats are dear to make, and the same ones are wanted in every row.
function once<T>(key: string, make: () => T): T {
  if (!made.has(key)) made.set(key, make());
  return made.get(key) as T;
}

export function formatNumber(value: Int, language: string, digits = 0): string {
  return once(`n${digits}${language}`, () => new Intl.NumberFormat(language, { maximumFractionDigits: digits })).format(
    value,
  );
}

export function formatPercent(share: number, language: string): string {
  const options: Intl.NumberFormatOptions = { style: 'percent', maximumFractionDigits: 1 };
  return once(`p${language}`, () => new Intl.NumberFormat(language, options)).format(share);
}

// "3 minutes ago", "in 2 hours"; what is nearer than a second is now.
export function formatRelative(atMs: number, nowMs: number, language: string): string {
  const format = once(`r${language}`, () => new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }));
  const ms = atMs - nowMs;
  for (const [unit, length] of UNITS) {
    if (Math.abs(ms) >= length) return format.format(Math.trunc(ms / length), unit);
  }
  return format.format(0, 'second');
}

// In the reader's zone, which is named.
export function formatMoment(atMs: number, language: string): string {
  const options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'long' };
  return once(`m${language}`, () => new Intl.DateTimeFormat(language, options)).format(atMs);
}

export function formatClock(atMs: number, language: string): string {
  const options: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' };
  return once(`c${language}`, () => new Intl.DateTimeFormat(language, options)).format(atMs);
}

// The two largest units that count: "2 h 5 min", "340 ms".
export function formatDuration(ms: number, language: string): string {
  if (ms < SECOND) return unit(Math.round(ms), 'millisecond', language);
  if (ms < 10 * SECOND) return unit(ms / SECOND, 'second', language, 1);
  const parts = [
    ['day', DAY],
    ['hour', HOUR],
    ['minute', MINUTE],
    ['second', SECOND],
  ] as const;
  const first = parts.findIndex(([, length]) => ms >= length);
  const texts: string[] = [];
  let rest = ms;
  for (const [name, length] of parts.slice(first, first + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) texts.push(unit(count, name, language));
  }
  return texts.join(' ');
}

function unit(value: number, name: string, language: string, digits = 0): string {
  const options: Intl.NumberFormatOptions = {
    style: 'unit',
    unit: name,
    unitDisplay: 'short',
    maximumFractionDigits: digits,
  };
  return once(`u${name}${digits}${language}`, () => new Intl.NumberFormat(language, options)).format(value);
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(value: Int, language: string): string {
  let amount = Number(value);
  let step = 0;
  while (Math.abs(amount) >= 1024 && step < BYTES.length - 1) {
    amount /= 1024;
    step++;
  }
  return `${formatNumber(amount, language, step === 0 || amount >= 100 ? 0 : 1)} ${BYTES[step]}`;
}

// Of GPU-milliseconds: a number of GPU-hours, whose unit the caller says.
export function formatGpuHours(gpuMs: Int, language: string): string {
  const hours = Number(gpuMs) / HOUR;
  return formatNumber(hours, language, Math.abs(hours) >= 100 ? 0 : Math.abs(hours) >= 1 ? 1 : 3);
}
