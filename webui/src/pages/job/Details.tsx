// What is looked up: nodes and ranks, events.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { useEvents } from '../../live/hooks';
import type { EventRow, JobDetail } from '../../live/types';
import { jobPath, NodeLink } from '../../shell/links';
import { Dash, Said, Step, Time } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { joinedEvents, ranksOfTask, useJobEvents } from './queries';
import { numberOf, type Attempt } from './segments';

type Task = Schemas['TaskInfo'];
const ROWS_MAX = 14;

export function Nodes({ job, attempt }: { job: JobDetail; attempt: Attempt | undefined }) {
  const { t } = useTranslation('job');
  const columns = useMemo(() => nodeColumns(t, job, attempt), [t, job, attempt]);
  return (
    <DataTable
      label={t('nodes.title')}
      rows={attempt?.tasks ?? []}
      columns={columns}
      keyOf={(task) => String(task.index)}
      rowsMax={ROWS_MAX}
      sortName="nodes"
      empty={<EmptyState title={t('noAttempts')} />}
    />
  );
}

function nodeColumns(t: TFunction, job: JobDetail, attempt: Attempt | undefined): Columns<Task> {
  const isOver = attempt?.state === 'ended';
  const number = attempt ? numberOf(attempt) : 0;
  const of = createColumnHelper<Task>();
  return [
    of.accessor('index', { header: '#', meta: { number: true, width: '52px' } }),
    of.accessor('node', {
      header: t('nodes.node'),
      meta: { width: 'minmax(90px, 1fr)' },
      cell: (cell) => <NodeLink name={cell.getValue()} />,
    }),
    of.accessor('zone', { header: t('nodes.zone'), meta: { wide: true, width: '70px' } }),
    of.accessor('phase', {
      header: t('nodes.phase'),
      meta: { width: '96px' },
      // Of an attempt that is over nobody tells it any more.
      cell: (cell) => (isOver ? <Dash /> : t(`nodes.phases.${cell.getValue()}`, { defaultValue: cell.getValue() })),
    }),
    of.accessor('step', {
      header: t('step'),
      meta: { number: true, width: '86px', words: t('nodes.stepWords') },
      cell: (cell) => <Step value={cell.getValue()} />,
    }),
    of.accessor('exit_code', {
      header: t('nodes.exit'),
      meta: { number: true, wide: true, width: '116px', words: t('nodes.exitWords') },
      cell: (cell) => (cell.getValue() < 0 ? <Dash /> : cell.getValue()),
    }),
    of.display({
      id: 'ranks',
      header: t('nodes.ranks'),
      meta: { width: 'minmax(90px, 1fr)', words: t('nodes.ranksWords') },
      cell: ({ row }) => <RankLinks job={job} task={row.original} attempt={number} />,
    }),
    of.accessor('message', {
      header: t('attempt.message'),
      meta: { wide: true, width: 'minmax(120px, 3fr)' },
      cell: (cell) => <Said text={cell.getValue()} />,
    }),
  ];
}

const RANKS_SHOWN = 8;

function RankLinks({ job, task, attempt }: { job: JobDetail; task: Task; attempt: number }) {
  const { t } = useTranslation('job');
  return ranksOfTask(job, task.index)
    .slice(0, RANKS_SHOWN)
    .map((rank) => (
      <span key={rank}>
        <Link
          href={`${jobPath(job.id)}/logs?ranks=${rank}&at=${rank}.${attempt}.0`}
          aria-label={t('nodes.logOf', { rank })}
        >
          {rank}
        </Link>{' '}
      </span>
    ));
}

export function Events({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const live = useEvents();
  const asked = useJobEvents(job.id);
  const rows = useMemo(() => joinedEvents(asked.data ?? [], live, job.id), [asked.data, live, job.id]);
  const columns = useMemo(() => eventColumns(t), [t]);
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  return (
    <DataTable
      label={t('events.title')}
      rows={rows}
      columns={columns}
      keyOf={(event) => String(event.seq)}
      rowsMax={ROWS_MAX}
      sortName="events"
      empty={<EmptyState title={t('events.none')} />}
    />
  );
}

function eventColumns(t: TFunction): Columns<EventRow> {
  const of = createColumnHelper<EventRow>();
  return [
    of.accessor('happened_at_ms', {
      header: t('events.when'),
      meta: { width: '104px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor('attempt', {
      header: '#',
      meta: { number: true, width: '52px' },
      cell: (cell) => cell.getValue() || <Dash />,
    }),
    of.accessor('kind', {
      header: t('events.kind'),
      meta: { width: 'minmax(130px, 1fr)' },
      cell: (cell) => <Said text={cell.getValue().replaceAll('_', ' ')} />,
    }),
    of.accessor('message', {
      header: t('events.what'),
      meta: { width: 'minmax(160px, 5fr)' },
      cell: (cell) => (
        <span title={cell.getValue()}>
          <Said text={cell.getValue()} />
        </span>
      ),
    }),
  ];
}
