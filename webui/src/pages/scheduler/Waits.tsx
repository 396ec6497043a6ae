import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { num } from '../../api/int';
import { JobLink } from '../../shell/links';
import { Count, Dash, Duration } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Explained } from '../../ui/Explained';
import { formatPercent } from '../../ui/format';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import type { HistoryRow } from '../usage/parts';
import { useClassWaits, useEnded, usePolicy } from './queries';
import styles from './Scheduler.module.css';
import { boundOf, promises, waitsBySize, type SizeRow } from './waits';

const CLASS_COMMAND = 'glim admin report waits --by class --since 7d';
const BROKEN_SHOWN = 8;

export function WaitsByClass() {
  const { t } = useTranslation('scheduler');
  const asked = useClassWaits();
  const columns = useMemo(() => classColumns(t), [t]);
  return (
    <section aria-label={t('waits.byClass')}>
      <h2>{t('waits.byClass')}</h2>
      {asked.isPending && <Loading />}
      {asked.isError && <ErrorNote error={asked.error} again={() => void asked.refetch()} />}
      {asked.data && (
        <DataTable
          label={t('waits.byClass')}
          rows={asked.data.rows}
          columns={columns}
          keyOf={(row) => row.name}
          rowsMax={10}
          sortName="classes"
          empty={<EmptyState title={t('waits.none')} />}
        />
      )}
    </section>
  );
}

export function WaitsBySize() {
  const { t } = useTranslation('scheduler');
  const asked = useEnded();
  const rows = useMemo(() => waitsBySize(asked.data?.jobs ?? []), [asked.data]);
  const columns = useMemo(() => sizeColumns(t), [t]);
  return (
    <section aria-label={t('waits.bySize')}>
      <h2>{t('waits.bySize')}</h2>
      {asked.isPending && <Loading />}
      {asked.isError && <ErrorNote error={asked.error} again={() => void asked.refetch()} />}
      {asked.data && (
        <DataTable
          label={t('waits.bySize')}
          rows={rows}
          columns={columns}
          keyOf={(row) => row.size}
          rowsMax={10}
          sortName="sizes"
          empty={<EmptyState title={t('waits.none')} />}
        />
      )}
      {asked.data?.next_page_token && <p className="weak">{t('waits.newest', { count: asked.data.jobs.length })}</p>}
    </section>
  );
}

const ms = (value: number | undefined) => (value === undefined ? <Dash /> : <Duration ms={value} />);

function classColumns(t: TFunction): Columns<HistoryRow> {
  const of = createColumnHelper<HistoryRow>();
  const wait = (key: 'p50_ms' | 'p90_ms' | 'max_ms') =>
    of.accessor((row) => row.wait?.[key], {
      id: key,
      header: t(`waits.${key}`),
      meta: { number: true, width: 'minmax(86px, 1fr)', words: t(`waits.${key}Words`), command: CLASS_COMMAND },
      cell: (cell) => ms(cell.getValue()),
    });
  return [
    of.accessor('name', {
      header: t('waits.class'),
      meta: { width: 'minmax(90px, 1fr)' },
      cell: (cell) => t(`common:classes.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    of.accessor((row) => num(row.jobs), { id: 'jobs', header: t('waits.jobs'), meta: { number: true, width: '66px' } }),
    wait('p50_ms'),
    wait('p90_ms'),
    wait('max_ms'),
  ];
}

function sizeColumns(t: TFunction): Columns<SizeRow> {
  const of = createColumnHelper<SizeRow>();
  const command = 'glim history --since 7d';
  const wait = (key: 'p50' | 'p90' | 'max') =>
    of.accessor(`${key}Ms`, {
      header: t(`waits.${key}_ms`),
      meta: { number: true, width: 'minmax(86px, 1fr)', words: t(`waits.${key}_msWords`), command },
      cell: (cell) => ms(cell.getValue()),
    });
  return [
    of.accessor('from', {
      header: t('waits.nodes'),
      meta: { width: 'minmax(90px, 1fr)' },
      cell: ({ row }) => row.original.size,
    }),
    of.accessor('jobs', { header: t('waits.jobs'), meta: { number: true, width: '66px' } }),
    wait('p50'),
    wait('p90'),
    wait('max'),
  ];
}

// Whoever waited as long as the bound comes before all of its class: who waited longer was promised too much.
export function Promises() {
  const { t, i18n } = useTranslation('scheduler');
  const policy = usePolicy();
  const ended = useEnded();
  if (policy.isError) return <ErrorNote error={policy.error} again={() => void policy.refetch()} />;
  if (!policy.data || !ended.data) return <Loading />;
  const boundMs = boundOf(policy.data.yaml);
  const { kept, broken } = promises(ended.data.jobs, boundMs);
  const all = kept + broken.length;
  return (
    <section aria-label={t('promises.title')}>
      <h2>{t('promises.title')}</h2>
      <p className={styles.promise}>
        <Explained words={t('promises.words')} command="glim admin config show">
          {t('promises.bound')} <Duration ms={boundMs} />
        </Explained>
        {': '}
        {all === 0 ? (
          t('promises.none')
        ) : (
          <strong data-part="kept">
            {t('promises.kept', { kept, count: all, share: formatPercent(kept / all, i18n.language) })}
          </strong>
        )}
      </p>
      {broken.length > 0 && (
        <p>
          {t('promises.broken')} <Count value={broken.length} />:{' '}
          {broken.slice(0, BROKEN_SHOWN).map((job, at) => (
            <span key={String(job.id)}>
              {at > 0 && ', '}
              <JobLink id={job.id} />
            </span>
          ))}
        </p>
      )}
    </section>
  );
}
