// What health checks found of a node, in words of the page's language. Pure.
import type { TFunction } from 'i18next';
import type { Int } from '../../api/int';
import type { Schemas } from '../../api/client';
import type { EventRow } from '../../live/types';
import { formatNumber } from '../../ui/format';

export type Found = Pick<Schemas['HealthCondition'], 'value' | 'expected' | 'unit' | 'text'>;

const MBPS_OF_GBPS = 1_000;

// "Xid 79", "link went down"; a check of another release by its own name.
export function findingOf(t: TFunction, check: string, code: Int = 0): string {
  return check === 'xid'
    ? `Xid ${String(code)}`
    : t(`node:checks.${check}`, { defaultValue: check.replaceAll('_', ' ') });
}

// "100 Gb/s of 200"; empty: nothing was measured.
export function measuredOf(t: TFunction, { value, expected, unit }: Found, language: string): string {
  if (!unit) return '';
  const amount = `${formatNumber(value, language)} ${unit}`;
  return Number(expected) === 0 ? amount : t('node:ofExpected', { amount, expected: formatNumber(expected, language) });
}

// "200 Gb/s", "100 Mb/s"; empty: it is not known.
export function rateOf(mbps: Int, language: string): string {
  const rate = Number(mbps);
  if (rate <= 0) return '';
  const isWhole = rate % MBPS_OF_GBPS === 0;
  return isWhole ? `${formatNumber(rate / MBPS_OF_GBPS, language)} Gb/s` : `${formatNumber(rate, language)} Mb/s`;
}

// Of a node that its health took out: the finding, and what an operator is to do, which the reason ends with.
export function adviceOf(by: string, reason: string): { why: string; advice: string } {
  const end = by === 'health' ? reason.lastIndexOf('; ') : -1;
  return end < 0 ? { why: reason, advice: '' } : { why: reason.slice(0, end), advice: reason.slice(end + 2) };
}

// Changes when the node is to be asked for again: something was found, or its agent came anew.
export function askedAgainAt(events: EventRow[]): string {
  const newest = events.find(
    ({ kind }) => kind.startsWith('health_') || kind === 'node_ready' || kind === 'node_fault',
  );
  return String(newest?.seq ?? 0);
}
