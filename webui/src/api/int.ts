// A 64-bit integer of the API: a bigint where a number would round it.
export type Int = number | bigint;

// For arithmetic and scales, where the last digits of huge values do not matter.
export function num(value: Int): number {
  return Number(value);
}

export function compareInts(a: Int, b: Int): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// The number in an address, or null if it is none.
export function parseId(text: string | undefined): Int | null {
  if (!text || !/^\d{1,20}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}
