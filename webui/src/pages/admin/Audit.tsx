// Who changed what and who was denied what, and whether all of it is there.
import { useMutation } from '@tanstack/react-query';
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { Count, Said, Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { FilterBar } from '../../ui/FilterBar';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { useFilters } from '../../ui/useFilters';
import { useAccounts } from '../usage/queries';
import styles from './Admin.module.css';
import { useAudit, verifyAudit } from './queries';

type Entry = Schemas['AuditEntry'];

export function Audit() {
  const { t } = useTranslation('admin');
  const [filters, set] = useFilters('user');
  const users = useAccounts().data?.users ?? [];
  const asked = useAudit(filters.user, 0);
  const columns = useMemo(() => columnsOf(t), [t]);
  const entries = useMemo(() => asked.data?.pages.flatMap((page) => page.entries) ?? [], [asked.data]);
  const options = users.map(({ name }) => ({ value: name, label: name }));
  return (
    <>
      <FilterBar filters={filters} set={set} fields={[{ name: 'user', label: t('fields.user'), options }]}>
        <Verify />
      </FilterBar>
      {asked.isPending && <Loading />}
      {asked.isError && <ErrorNote error={asked.error} again={() => void asked.refetch()} />}
      {asked.data && (
        <DataTable
          label={t('tabs.audit')}
          rows={entries}
          columns={columns}
          keyOf={(entry) => String(entry.seq)}
          empty={<EmptyState title={t('none')} />}
        />
      )}
      <div className={styles.foot}>
        {asked.hasNextPage && (
          <Button disabled={asked.isFetching} onClick={() => void asked.fetchNextPage()}>
            {t('audit.more')}
          </Button>
        )}
        <Command text={filters.user ? `glim admin audit --user ${filters.user}` : 'glim admin audit'} />
      </div>
    </>
  );
}

function Verify() {
  const { t } = useTranslation('admin');
  const verified = useMutation({ mutationFn: verifyAudit });
  const told = verified.data;
  return (
    <span role="status" data-part="verified" className={styles.verify}>
      {told && Number(told.broken_at) === 0 && (
        <>
          {t('audit.holds')} <Count value={told.entries} />.
        </>
      )}
      {told && Number(told.broken_at) > 0 && (
        <strong className={styles.broken}>
          {t('audit.broken')} <Count value={told.broken_at} />: <Said text={told.why} />
        </strong>
      )}
      {verified.isError && <ErrorNote error={verified.error} />}{' '}
      <Button disabled={verified.isPending} onClick={() => verified.mutate()}>
        {t('audit.verify')}
      </Button>
    </span>
  );
}

function columnsOf(t: TFunction): Columns<Entry> {
  const of = createColumnHelper<Entry>();
  const said = (key: 'object' | 'before' | 'after' | 'outcome', width: string, wide = false) =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width, wide },
      cell: (cell) => (
        <span title={cell.getValue()}>
          <Said text={cell.getValue()} />
        </span>
      ),
    });
  return [
    of.accessor('seq', { header: '#', meta: { number: true, width: '64px', wide: true } }),
    of.accessor('at_ms', {
      header: t('fields.when'),
      meta: { width: '104px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor('user', {
      header: t('fields.user'),
      meta: { width: '84px' },
      cell: (cell) => <span data-name>{cell.getValue()}</span>,
    }),
    of.accessor((entry) => entry.method.split('/').at(-1) ?? '', {
      id: 'method',
      header: t('fields.method'),
      meta: { width: 'minmax(110px, 1fr)' },
      cell: (cell) => <Said text={cell.getValue()} />,
    }),
    said('object', 'minmax(100px, 1fr)'),
    said('before', 'minmax(90px, 1fr)', true),
    said('after', 'minmax(110px, 2fr)', true),
    said('outcome', '110px', true),
  ];
}
