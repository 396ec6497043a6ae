// Amounts as one bar. What it shows stands beside it in numbers, so it says nothing to screen readers.
import { useTranslation } from 'react-i18next';
import { GpuHours } from '../../ui/amounts';
import { Explained } from '../../ui/Explained';
import { formatPercent } from '../../ui/format';
import { sumOf, type Part } from './parts';
import styles from './Usage.module.css';

// `max`: what the whole width is.
export function Stack({ parts, max = 0, high = false }: { parts: Part[]; max?: number; high?: boolean }) {
  const sum = sumOf(parts);
  return (
    <div className={high ? styles.stackHigh : styles.stack} aria-hidden="true">
      {parts
        .filter((part) => part.ms > 0)
        .map((part) => (
          <span key={part.key} style={{ flexGrow: part.ms, background: `var(${part.colour})` }} />
        ))}
      {max > sum && <i style={{ flexGrow: max - sum }} />}
    </div>
  );
}

// The parts in words, each with what it means.
export function Legend({ parts, command }: { parts: Part[]; command: string }) {
  const { t, i18n } = useTranslation('usage');
  const sum = sumOf(parts);
  return (
    <dl className={styles.legend}>
      {parts.map((part) => (
        <div key={part.key} data-part={part.key}>
          <dt>
            <span className={styles.swatch} style={{ background: `var(${part.colour})` }} aria-hidden="true" />
            <Explained words={t(`parts.${part.key}Words`)} command={command}>
              {t(`parts.${part.key}`)}
            </Explained>
          </dt>
          <dd>
            <GpuHours gpuMs={part.ms} />{' '}
            <span className="weak">{formatPercent(sum > 0 ? part.ms / sum : 0, i18n.language)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
