// What may be had at a time, and what is had now.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useQueue } from '../../live/hooks';
import { Count, Said } from '../../ui/amounts';
import { classes } from '../../ui/classes';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { useAccounts } from './queries';
import { quotaUses, type Quota, type QuotaUse } from './quotas';
import styles from './Usage.module.css';

export function Quotas() {
  const { t } = useTranslation('usage');
  const accounts = useAccounts();
  const { ready, rows } = useQueue();
  const uses = useMemo(() => (accounts.data ? quotaUses(accounts.data, rows) : []), [accounts.data, rows]);
  const columns = useMemo(() => columnsOf(t), [t]);
  if (accounts.isError) return <ErrorNote error={accounts.error} again={() => void accounts.refetch()} />;
  if (accounts.isPending || !ready) return <Loading />;
  return (
    <>
      <p className="weak">{t('quota.words')}</p>
      <DataTable
        label={t('tabs.quotas')}
        rows={uses}
        columns={columns}
        keyOf={(use) => use.key}
        rowsMax={16}
        empty={<EmptyState title={t('quota.none')}>{t('quota.noneWords')}</EmptyState>}
      />
      <Command text="glim admin quota list" />
    </>
  );
}

export function Subject({ quota }: { quota: Pick<Quota, 'of' | 'subject'> }) {
  const { t } = useTranslation('usage');
  return (
    <>
      {t(`quota.of.${quota.of}`)} <span data-name>{quota.subject}</span>
    </>
  );
}

export function Track({ nodes, of }: { nodes: number; of: number }) {
  const share = of > 0 ? Math.min(1, nodes / of) : nodes > 0 ? 1 : 0;
  return (
    <span className={styles.track} aria-hidden="true">
      <span className={classes(nodes >= of && nodes > 0 && styles.full)} style={{ width: `${share * 100}%` }} />
    </span>
  );
}

function columnsOf(t: TFunction): Columns<QuotaUse> {
  const of = createColumnHelper<QuotaUse>();
  const command = 'glim admin quota list';
  return [
    of.accessor(({ quota }) => `${quota.of} ${quota.subject}`, {
      id: 'subject',
      header: t('quota.subject'),
      meta: { width: 'minmax(130px, 1fr)' },
      cell: ({ row }) => <Subject quota={row.original.quota} />,
    }),
    of.accessor('quota.pool', {
      id: 'in',
      header: t('by.pool'),
      meta: { width: '96px', wide: true },
      cell: (cell) => (cell.getValue() === '*' ? t('quota.allPools') : <span data-name>{cell.getValue()}</span>),
    }),
    of.accessor('quota.priority', {
      id: 'from',
      header: t('quota.class'),
      meta: { width: 'minmax(170px, 1fr)', words: t('quota.classWords'), command },
      cell: (cell) => t('quota.andAbove', { class: t(`common:classes.${cell.getValue()}`) }),
    }),
    of.display({
      id: 'bar',
      header: t('quota.bar'),
      meta: { width: 'minmax(80px, 1fr)', wide: true },
      cell: ({ row }) => <Track nodes={row.original.nodes} of={row.original.quota.nodes} />,
    }),
    of.accessor('nodes', {
      header: t('quota.used'),
      meta: { number: true, width: '116px', words: t('quota.usedWords'), command: 'glim queue --state running' },
      cell: ({ row }) => <Count value={row.original.nodes} />,
    }),
    of.accessor('quota.nodes', {
      id: 'quota',
      header: t('quota.nodes'),
      meta: { number: true, width: '92px', words: t('quota.nodesWords'), command },
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor('who', {
      header: t('quota.who'),
      meta: { width: '104px', wide: true, words: t('quota.whoWords') },
      cell: (cell) => <span data-name>{cell.getValue()}</span>,
    }),
    of.accessor('quota.meaning', {
      id: 'meaning',
      header: t('quota.meaning'),
      meta: { width: 'minmax(140px, 2fr)', wide: true },
      cell: (cell) => (
        <span title={cell.getValue()}>
          <Said text={cell.getValue()} />
        </span>
      ),
    }),
  ];
}
