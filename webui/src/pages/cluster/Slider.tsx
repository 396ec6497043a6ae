// The moment that is shown: now, or one of the past. It stands in the address.
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { formatClock, formatDuration, formatMoment } from '../../ui/format';
import { useNow } from '../../ui/useNow';
import styles from './Slider.module.css';

const HOUR = 3_600_000;
const SPANS = [1, 6, 24, 168].map((hours) => hours * HOUR);
const STEPS = 240;
const SETTLE_MS = 200; // the slider is asked for where it stays
const TICK_MS = 10_000;

interface Props {
  atMs: number; // 0: now
  span: number;
  set: (change: { at?: string; span?: string }) => void;
  asking: boolean;
  complete: boolean | null; // of the moment's answer; null: none
}

export function spanOf(word: string): number {
  const hours = Number(word);
  return SPANS.find((one) => one === hours * HOUR) ?? HOUR;
}

export function Slider({ atMs, span, set, asking, complete }: Props) {
  const { t, i18n } = useTranslation('cluster');
  const language = i18n.language;
  const now = useNow((ms) => ms - (ms % TICK_MS) + TICK_MS);
  const [held, setHeld] = useState<number | null>(null); // while it is dragged
  const from = now - span;
  const step = span / STEPS;
  const shown = held ?? (atMs ? Math.max(from, Math.min(now, atMs)) : now);
  useEffect(() => {
    if (held === null) return;
    const timer = setTimeout(() => {
      set({ at: held >= now - step / 2 ? '' : String(Math.round(held)) });
      setHeld(null);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [held, now, step, set]);
  const isPast = atMs > 0 || (held !== null && held < now - step / 2);
  const moment = held ?? atMs;
  return (
    <div className={styles.bar} role="group" aria-label={t('time')} data-part="time">
      <label className={styles.span}>
        <span className="hidden">{t('span')}</span>
        <select
          value={span / HOUR}
          onChange={(event) => set({ span: event.target.value === '1' ? '' : event.target.value })}
        >
          {SPANS.map((one) => (
            <option key={one} value={one / HOUR}>
              {t('last', { time: formatDuration(one, language) })}
            </option>
          ))}
        </select>
      </label>
      <input
        className={styles.slider}
        type="range"
        aria-label={t('moment')}
        aria-valuetext={isPast ? formatMoment(moment, language) : t('now')}
        min={from}
        max={now}
        step={step}
        value={shown}
        onChange={(event) => setHeld(Number(event.target.value))}
      />
      <span className={styles.when} aria-busy={asking}>
        {isPast ? (
          <>
            <strong>{formatClock(moment, language)}</strong> <Time atMs={moment} />
          </>
        ) : (
          <strong>{t('now')}</strong>
        )}
      </span>
      {isPast && (
        <Button kind="main" onClick={() => set({ at: '' })}>
          {t('backToNow')}
        </Button>
      )}
      {isPast && complete === false && (
        <p className={styles.note} role="status" data-part="incomplete">
          {t('incomplete')}
        </p>
      )}
      {isPast && complete === true && <p className={styles.quiet}>{t('pastWords')}</p>}
    </div>
  );
}
