// What colours and patterns mean, with how many nodes: each line is also the filter for it.
import { useTranslation } from 'react-i18next';
import { classes } from '../../ui/classes';
import { formatNumber } from '../../ui/format';
import { cutsOf, type Entry, type Key, type Look } from './colour';
import styles from './Legend.module.css';
import type { MapFilters } from './select';

const SHOWN = 14;
const SIGN = 12;

export function Sign({ look }: { look: Look }) {
  return (
    <svg className={styles.sign} viewBox={`0 0 ${SIGN} ${SIGN}`} aria-hidden="true">
      <rect width={SIGN} height={SIGN} style={{ fill: `var(${look.colour})` }} />
      {cutsOf(look.glyph, SIGN).map(([x, y, width, height]) => (
        <rect key={`${x} ${y}`} x={x} y={y} width={width} height={height} style={{ fill: 'var(--bg)' }} />
      ))}
    </svg>
  );
}

interface Props {
  entries: Entry[];
  filters: MapFilters;
  set: (change: Partial<MapFilters>) => void;
  names: ReadonlyMap<string, string>; // of jobs
}

export function Legend({ entries, filters, set, names }: Props) {
  const { t, i18n } = useTranslation('cluster');
  const words = ({ kind, value }: Key) => {
    if (kind === 'state') return t(`states.${value}`);
    if (value === '') return t('unknown');
    if (kind === 'class') return t(`common:classes.${value}`);
    return kind === 'job' ? `${value} ${names.get(value) ?? ''}` : value;
  };
  const rest = entries.slice(SHOWN);
  const nodes = (count: number) => formatNumber(count, i18n.language);
  return (
    <section aria-label={t('legend')}>
      <ul className={styles.list}>
        {entries.slice(0, SHOWN).map(({ key, look, count }) => {
          const pressed = filters[key.kind] === key.value;
          return (
            <li key={`${key.kind}:${key.value}`} data-legend={`${key.kind}:${key.value}`}>
              <button
                type="button"
                className={classes(styles.line, pressed && styles.pressed)}
                aria-pressed={pressed}
                disabled={key.value === ''}
                onClick={() => set({ [key.kind]: pressed ? '' : key.value })}
              >
                <Sign look={look} />
                <span className={styles.word} data-name={key.kind === 'job' || key.kind === 'user' ? '' : undefined}>
                  {words(key)}
                </span>
                <span className={styles.count}>{nodes(count)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {rest.length > 0 && (
        <p className="weak">
          {t('more', { count: rest.length, nodes: nodes(rest.reduce((sum, one) => sum + one.count, 0)) })}
        </p>
      )}
    </section>
  );
}
