// Amounts and moments as elements. Numbers that want an explanation are wrapped into <Explained>.
import { useTranslation } from 'react-i18next';
import type { Int } from '../api/int';
import { formatBytes, formatDuration, formatGpuHours, formatMoment, formatNumber, formatRelative } from './format';
import { useNow } from './useNow';

// Relative; absolute in the reader's zone on hover, and for screen readers. 0: a dash.
export function Time({ atMs }: { atMs: number }) {
  const { language } = useTranslation().i18n;
  const text = useNow((now) => (atMs ? formatRelative(atMs, now, language) : ''));
  if (!atMs) return <Dash />;
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatMoment(atMs, language)}>
      {text}
    </time>
  );
}

// How long since then, or between two moments.
export function Lasted({ fromMs, toMs = 0 }: { fromMs: number; toMs?: number }) {
  const { language } = useTranslation().i18n;
  const text = useNow((now) => (fromMs ? formatDuration(Math.max(0, (toMs || now) - fromMs), language) : ''));
  return fromMs ? <span title={formatMoment(fromMs, language)}>{text}</span> : <Dash />;
}

export function Count({ value, digits = 0 }: { value: Int; digits?: number }) {
  return <>{formatNumber(value, useTranslation().i18n.language, digits)}</>;
}

// A step of training: -1 is none.
export function Step({ value }: { value: Int }) {
  return value < 0 ? <Dash /> : <Count value={value} />;
}

export function Bytes({ value }: { value: Int }) {
  return <>{formatBytes(value, useTranslation().i18n.language)}</>;
}

// Milliseconds; -1: it did not happen.
export function Duration({ ms }: { ms: number }) {
  const { language } = useTranslation().i18n;
  return ms < 0 ? <Dash /> : <>{formatDuration(ms, language)}</>;
}

export function GpuHours({ gpuMs }: { gpuMs: Int }) {
  const { t, i18n } = useTranslation('common');
  return <>{t('gpuHours', { amount: formatGpuHours(gpuMs, i18n.language) })}</>;
}

export function Dash() {
  const { t } = useTranslation('common');
  return (
    <>
      <span aria-hidden="true" className="weak">
        –
      </span>
      <span className="hidden">{t('none')}</span>
    </>
  );
}

// Simulated GPUs are marked wherever they are shown.
export function Gpus({ count, simulated }: { count: Int; simulated: boolean }) {
  const { t } = useTranslation('common');
  return (
    <>
      <Count value={count} />
      {simulated && <span className="weak"> {t('simulatedShort')}</span>}
    </>
  );
}

// The scheduler's own words, which are English whatever the page's language is.
export function Said({ text }: { text: string }) {
  return <span lang="en">{text}</span>;
}
