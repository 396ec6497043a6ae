// The rows of one kind: a table, and a dialog that adds, changes or removes one.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dash, Said } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { EmptyState } from '../../ui/states-of-pages';
import styles from './Admin.module.css';
import { RowDialog } from './RowDialog';
import type { Accounts, FieldSpec, Kind, Layout, Values } from './kinds';

export interface Asked {
  row: Values;
  what: 'add' | 'change' | 'remove';
}

export function Rows({ kind, accounts, layout }: { kind: Kind; accounts: Accounts; layout: Layout }) {
  const { t } = useTranslation('admin');
  const [asked, setAsked] = useState<Asked | null>(null);
  const rows = useMemo(() => kind.rows(accounts, layout), [kind, accounts, layout]);
  const columns = useMemo(() => columnsOf(t, kind, setAsked), [t, kind]);
  return (
    <>
      <div className={styles.head}>
        <p className="weak">{t(`words.${kind.name}`)}</p>
        <Button onClick={() => setAsked({ row: kind.fresh, what: 'add' })}>{t(`add.${kind.name}`)}</Button>
      </div>
      <DataTable
        label={t(`tabs.${kind.name}`)}
        rows={rows}
        columns={columns}
        keyOf={(row) => `${kind.idOf(row)} ${kind.name === 'quota' ? String(row.pool) : ''}`.trim()}
        empty={<EmptyState title={t('none')} />}
      />
      {asked && <RowDialog kind={kind} asked={asked} accounts={accounts} onClose={() => setAsked(null)} />}
    </>
  );
}

// One value of a row, as people read it.
function Value({ field, value, row }: { field: FieldSpec; value: unknown; row: Values }) {
  const { t } = useTranslation('admin');
  if (field.kind === 'check') return value ? t('yes') : <Dash />;
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
  if (field.name === 'pool' && text === '*') return t('allPools');
  if (text === '') return <Dash />;
  if (field.name === 'role') return t(`common:roles.${text}`, { defaultValue: text });
  if (field.name === 'priority') return t('andAbove', { class: t(`common:classes.${text}`, { defaultValue: text }) });
  if (field.name === 'of') return t(`of.${text}`);
  return (
    <span data-name title={typeof row.meaning === 'string' ? row.meaning : undefined}>
      {text}
    </span>
  );
}

function columnsOf(t: TFunction, kind: Kind, set: (asked: Asked) => void): Columns<Values> {
  const of = createColumnHelper<Values>();
  const fields = kind.fields.map((field, at) =>
    of.accessor((row) => row[field.name], {
      id: field.name,
      header: t(`fields.${field.name}`),
      meta: { number: field.kind === 'number', width: field.width, wide: at > 1 && kind.name !== 'quota' },
      cell: ({ row }) => <Value field={field} value={row.original[field.name]} row={row.original} />,
    }),
  );
  const told =
    kind.name === 'quota'
      ? [
          of.accessor('meaning', {
            header: t('fields.meaning'),
            meta: { width: 'minmax(160px, 3fr)', wide: true },
            cell: ({ row }) => (
              <span title={String(row.original.meaning)}>
                <Said text={String(row.original.meaning)} />
              </span>
            ),
          }),
        ]
      : ['pool', 'zone'].includes(kind.name)
        ? [of.accessor('nodes', { header: t('fields.nodesIn'), meta: { number: true, width: '110px' } })]
        : [];
  const acts = of.display({
    id: 'acts',
    header: () => <span className="hidden">{t('acts')}</span>,
    meta: { width: '164px' },
    cell: ({ row }) => (
      <>
        <Button
          kind="quiet"
          className={styles.small}
          aria-label={t('changeOf', { name: kind.idOf(row.original) })}
          onClick={() => set({ row: row.original, what: 'change' })}
        >
          {t('change')}
        </Button>
        <Button
          kind="quiet"
          className={styles.small}
          aria-label={t('removeOf', { name: kind.idOf(row.original) })}
          onClick={() => set({ row: row.original, what: 'remove' })}
        >
          {t('remove')}
        </Button>
      </>
    ),
  });
  return [...fields, ...told, acts];
}
