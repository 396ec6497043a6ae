import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import type { JobDetail } from '../../live/types';
import { SaidOfJobs } from '../../shell/links';
import { Dash, Duration, Lasted, Step, Time } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import { DataTable, type Columns } from '../../ui/DataTable';
import { EmptyState } from '../../ui/states-of-pages';
import { stepsLostOf } from './segments';

type Attempt = Schemas['Attempt'];

const ROWS_MAX = 12;

function columnsOf(t: TFunction): Columns<Attempt> {
  const of = createColumnHelper<Attempt>();
  return [
    of.accessor((one) => one.ref?.number ?? 0, {
      id: 'number',
      header: '#',
      meta: { number: true, width: '44px' },
      cell: (cell) => cell.getValue(),
    }),
    of.accessor('state', {
      header: t('attempt.state'),
      meta: { width: '98px' },
      cell: (cell) => <Badge kind="attemptStates" state={cell.getValue()} />,
    }),
    of.accessor('outcome', {
      header: t('attempt.outcome'),
      meta: { width: 'minmax(120px, 1fr)' },
      cell: ({ row }) => <Outcome attempt={row.original} />,
    }),
    of.accessor('claimed_at_ms', {
      header: t('attempt.began'),
      meta: { wide: true, width: '110px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor((one) => one.start?.queued_ms ?? -1, {
      id: 'waited',
      header: t('attempt.waited'),
      meta: { wide: true, number: true, width: '110px', words: t('attempt.waitedWords') },
      cell: (cell) => <Duration ms={cell.getValue()} />,
    }),
    of.accessor('running_at_ms', {
      header: t('attempt.ran'),
      meta: { number: true, width: '98px', words: t('attempt.ranWords') },
      cell: ({ row: { original } }) => <Lasted fromMs={original.running_at_ms} toMs={original.ended_at_ms} />,
    }),
    ...stepColumns(t),
    of.accessor((one) => one.message || (one.agreements.at(-1)?.reason ?? ''), {
      id: 'message',
      header: t('attempt.message'),
      meta: { wide: true, width: 'minmax(160px, 3fr)' },
      cell: (cell) => <SaidOfJobs text={cell.getValue()} />,
    }),
  ];
}

function stepColumns(t: TFunction): Columns<Attempt> {
  const of = createColumnHelper<Attempt>();
  const names = ['base_step', 'last_step', 'steps_lost'] as const;
  return names.map((name) =>
    of.accessor((attempt) => (name === 'steps_lost' ? stepsLostOf(attempt) : attempt[name]), {
      id: name,
      header: t(`attempt.${name}`),
      sortingFn: 'basic',
      meta: { number: true, wide: true, width: '116px', words: t(`attempt.${name}Words`) },
      cell: (cell) => <Step value={cell.getValue()} />,
    }),
  );
}

function Outcome({ attempt: { outcome, save } }: { attempt: Attempt }) {
  const { t } = useTranslation('common');
  if (!outcome) return <Dash />;
  return (
    <>
      {t(`outcomes.${outcome}`)}
      {save && `, ${t(`saveResults.${save}`)}`}
    </>
  );
}

export function Attempts({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const columns = useMemo(() => columnsOf(t), [t]);
  return (
    <DataTable
      label={t('attempts')}
      rows={job.attempts}
      columns={columns}
      keyOf={(one) => String(one.ref?.number ?? 0)}
      rowsMax={ROWS_MAX}
      sortName="attempts"
      empty={<EmptyState title={t('noAttempts')} />}
    />
  );
}
