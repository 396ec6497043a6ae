import { useTranslation } from 'react-i18next';
import type { ReactNode } from 'react';
import { Button } from './Button';
import styles from './FilterBar.module.css';
import type { Filters } from './useFilters';

export interface Filter<Name extends string> {
  name: Name;
  label: string;
  options?: { value: string; label: string }[]; // without them: a text to type
}

interface Props<Name extends string> {
  filters: Filters<Name>;
  set: (change: Partial<Filters<Name>>) => void;
  fields: Filter<Name>[];
  children?: ReactNode; // what is told beside the filters: how many are shown
}

export function FilterBar<Name extends string>({ filters, set, fields, children }: Props<Name>) {
  const { t } = useTranslation('common');
  const change = (name: Name, value: string) => set({ [name]: value } as Partial<Filters<Name>>);
  const any = fields.some(({ name }) => filters[name] !== '');
  const clear = () => set(Object.fromEntries(fields.map(({ name }) => [name, ''])) as Filters<Name>);
  return (
    <div role="search" aria-label={t('filters')} className={styles.bar}>
      {fields.map(({ name, label, options }) => (
        <label key={name} className={styles.field}>
          <span>{label}</span>
          {options ? (
            <select value={filters[name]} onChange={(event) => change(name, event.target.value)}>
              <option value="">{t('all')}</option>
              {options.map((option) => (
                <option key={option.value} value={option.value}>
                  {option.label}
                </option>
              ))}
            </select>
          ) : (
            <input type="search" value={filters[name]} onChange={(event) => change(name, event.target.value)} />
          )}
        </label>
      ))}
      {any && (
        <Button kind="quiet" onClick={clear}>
          {t('clearFilters')}
        </Button>
      )}
      <div className={styles.told}>{children}</div>
    </div>
  );
}
