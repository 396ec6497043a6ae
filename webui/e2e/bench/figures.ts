// How figures are told to tests/bench/bench_web.py: a line each, with a mark in front.
export const MARK = 'GLIM_FIGURE ';

export interface Aim {
  aim: number;
  met: boolean;
}

export function below(value: number, aim: number): Aim {
  return { aim, met: value < aim };
}

export function tell(metric: string, value: number, unit: string, n: number, more: object = {}): void {
  console.log(MARK + JSON.stringify({ metric, value: Math.round(value * 1_000) / 1_000, unit, n, ...more }));
}

// The smallest value that at least `share` of all do not exceed.
export function percentile(values: number[], share: number): number {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)] ?? NaN;
}

export const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
