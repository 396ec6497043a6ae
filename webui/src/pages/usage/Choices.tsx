// Over which time, and by what: both in the address.
import { useTranslation } from 'react-i18next';
import { classes } from '../../ui/classes';
import { GROUPS, type Group } from './queries';
import { DEFAULT_PRESET, PRESETS, presetOf, type RangeWords } from './range';
import styles from './Usage.module.css';

type Set = (change: Partial<RangeWords & { by: string }>) => void;

export function RangeChoice({ words, set }: { words: RangeWords; set: Set }) {
  const { t } = useTranslation('usage');
  const preset = presetOf(words);
  return (
    <fieldset className={styles.choice}>
      <legend>{t('range.title')}</legend>
      <div className={styles.buttons}>
        {PRESETS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === preset}
            className={classes(styles.button, one === preset && styles.pressed)}
            onClick={() => set({ range: one === DEFAULT_PRESET ? '' : one, from: '', to: '' })}
          >
            {t(`range.${one}`)}
          </button>
        ))}
      </div>
      <label>
        {t('range.from')}{' '}
        <input
          type="date"
          value={words.from}
          max={words.to || undefined}
          onChange={(e) => set({ from: e.target.value })}
        />
      </label>
      <label>
        {t('range.to')}{' '}
        <input
          type="date"
          value={words.to}
          min={words.from || undefined}
          onChange={(e) => set({ to: e.target.value })}
        />
      </label>
    </fieldset>
  );
}

export function GroupChoice({ by, set }: { by: Group; set: Set }) {
  const { t } = useTranslation('usage');
  return (
    <fieldset className={styles.choice}>
      <legend>{t('by.title')}</legend>
      <div className={styles.buttons}>
        {GROUPS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === by}
            className={classes(styles.button, one === by && styles.pressed)}
            onClick={() => set({ by: one === 'team' ? '' : one })}
          >
            {t(`by.${one}`)}
          </button>
        ))}
      </div>
    </fieldset>
  );
}
