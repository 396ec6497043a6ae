// JSON of the scheduler, with no digit lost: integers beyond 2^53 become bigints.
import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';

// A number of 16 digits or more, behind what may stand before one. Some texts match as well, which costs time alone.
const LARGE = /[:,[]\s*-?\d{16}/;

function parseNumber(text: string): number | bigint {
  return isInteger(text) && !isSafeNumber(text) ? BigInt(text) : Number(text);
}

// Points in time and durations are numbers by their type (scripts/generate.mjs), whatever somebody wrote into them.
function asTyped(name: string, value: unknown): unknown {
  return typeof value === 'bigint' && name.endsWith('_ms') ? Number(value) : value;
}

export function parseJson<T = unknown>(text: string): T {
  return (LARGE.test(text) ? parse(text, asTyped, parseNumber) : JSON.parse(text)) as T;
}

export function writeJson(value: unknown): string {
  return stringify(value) ?? 'null';
}
