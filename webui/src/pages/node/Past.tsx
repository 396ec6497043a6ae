// What happened to the node, and which jobs had it.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { compareInts } from '../../api/int';
import type { EventRow } from '../../live/types';
import { JobLink } from '../../shell/links';
import { Dash, Lasted, Said, Time } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { formatDuration } from '../../ui/format';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import type { Held } from './history';
import styles from './Node.module.css';
import { useHolders } from './queries';

const HOUR = 3_600_000;
const SPANS = [1, 6, 24, 168].map((hours) => hours * HOUR);
const ROWS_MAX = 12;

function columnsOf(t: TFunction): Columns<EventRow> {
  const of = createColumnHelper<EventRow>();
  return [
    of.accessor('seq', {
      id: 'when',
      header: t('when'),
      meta: { width: '120px' },
      sortingFn: (a, b) => compareInts(a.original.seq, b.original.seq),
      cell: ({ row: { original } }) => <Time atMs={original.happened_at_ms} />,
    }),
    of.accessor('kind', {
      header: t('what'),
      meta: { width: 'minmax(110px, 180px)' },
      cell: (cell) => t(`kinds.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    of.accessor('job_id', {
      header: t('job'),
      meta: { width: '70px', number: true, wide: true },
      sortingFn: (a, b) => compareInts(a.original.job_id, b.original.job_id),
      cell: (cell) => (cell.getValue() ? <JobLink id={cell.getValue()} /> : <Dash />),
    }),
    of.accessor('message', {
      header: t('why'),
      meta: { width: 'minmax(140px, 4fr)' },
      cell: (cell) => <Said text={cell.getValue()} />,
    }),
    of.display({
      id: 'then',
      header: t('cluster'),
      meta: { width: '90px', wide: true },
      cell: ({ row: { original } }) => <Link href={`/cluster?at=${original.happened_at_ms}`}>{t('asItWas')}</Link>,
    }),
  ];
}

export function Events({ events }: { events: EventRow[] }) {
  const { t } = useTranslation('node');
  const columns = useMemo(() => columnsOf(t), [t]);
  return (
    <section className={styles.section}>
      <h2>{t('events')}</h2>
      <DataTable
        label={t('events')}
        rows={events}
        columns={columns}
        keyOf={(event) => String(event.seq)}
        rowsMax={ROWS_MAX}
        sortName="events"
        empty={<EmptyState title={t('noEvents')} />}
      />
    </section>
  );
}

function holderColumns(t: TFunction): Columns<Held> {
  const of = createColumnHelper<Held>();
  return [
    of.accessor('fromMs', {
      header: t('from'),
      meta: { width: '130px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor((one) => one.toMs - one.fromMs, {
      id: 'lasted',
      header: t('lasted'),
      meta: { width: '130px', number: true, words: t('lastedWords') },
      cell: ({ row: { original } }) => <Lasted fromMs={original.fromMs} toMs={original.toMs} />,
    }),
    of.accessor('state', {
      header: t('state'),
      meta: { width: '130px' },
      cell: (cell) => (cell.getValue() ? <Badge kind="nodeStates" state={cell.getValue()} /> : <Dash />),
    }),
    of.accessor('job', {
      header: t('job'),
      meta: { width: 'minmax(80px, 1fr)' },
      enableSorting: false,
      cell: (cell) => (cell.getValue() === null ? <Dash /> : <JobLink id={cell.getValue()!} />),
    }),
  ];
}

// Asked for when it is wanted: each sample is rebuilt from the events of the whole cluster.
export function Holders({ name }: { name: string }) {
  const { t, i18n } = useTranslation('node');
  const [span, setSpan] = useState(0);
  const { data, isFetching, error } = useHolders(name, span);
  const columns = useMemo(() => holderColumns(t), [t]);
  return (
    <section className={styles.section} data-part="holders">
      <h2>{t('holders')}</h2>
      <div className={styles.spans}>
        {SPANS.map((one) => (
          <Button key={one} aria-pressed={one === span} onClick={() => setSpan(one)}>
            {t('last', { time: formatDuration(one, i18n.language) })}
          </Button>
        ))}
      </div>
      {error && <ErrorNote error={error} />}
      {isFetching && <Loading />}
      {data && !isFetching && (
        <>
          {data.some(({ complete }) => !complete) && <p className="weak">{t('incomplete')}</p>}
          <DataTable
            label={t('holders')}
            rows={data}
            columns={columns}
            keyOf={(one) => String(one.fromMs)}
            rowsMax={ROWS_MAX}
            sortName="holders"
          />
        </>
      )}
    </section>
  );
}
