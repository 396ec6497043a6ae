// What jobs had: those that ended in the time, or those that have not ended.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { num } from '../../api/int';
import { JobLink, jobPath } from '../../shell/links';
import { Count, GpuHours, Time } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command, Explained } from '../../ui/Explained';
import { formatGpuHours, formatMoment, formatNumber, formatPercent } from '../../ui/format';
import { EmptyState, Loading, SimulatedGpus } from '../../ui/states-of-pages';
import { Download } from './Download';
import { historyCsv, historyParts, shareOf, type HistoryRow } from './parts';
import { useHistoryReport, type Group } from './queries';
import { rangeFlags, type RangeWords } from './range';
import { Legend, Stack } from './Stack';
import styles from './Usage.module.css';

type Report = Schemas['GetHistoryReportResponse'];
type Filters = Record<'pool' | 'team' | 'user', string>;

interface Props {
  by: Group;
  words: RangeWords;
  filters: Filters;
  running: boolean;
  set: (change: Partial<Filters & { by: string }>) => void;
}

function commandOf({ by, words, filters, running }: Props): string {
  const named = Object.entries(filters).flatMap(([name, value]) => (value ? [`--${name} ${value}`] : []));
  return ['glim admin report usage', `--by ${by}`, running ? '--running' : rangeFlags(words), ...named].join(' ');
}

export function History(props: Props) {
  const { t } = useTranslation('usage');
  const { by, words, filters, running } = props;
  const asked = useHistoryReport(by, words, filters, running);
  const other = useHistoryReport(by, words, filters, !running);
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  const report = asked.data;
  const command = commandOf(props);
  const rows = report.rows;
  if (!report.total || num(report.total.jobs) === 0) {
    return (
      <EmptyState title={t(running ? 'noneRunning' : 'none')}>
        {!running && t('noneWords')} <Other running={running} total={other.data?.total ?? null} />
        <Command text={command} />
      </EmptyState>
    );
  }
  return (
    <div aria-busy={asked.isFetching}>
      <Answer report={report} total={report.total} command={command} other={other.data?.total ?? null} />
      <Groups {...props} report={report} rows={rows} command={command} />
      <div className={styles.foot}>
        <Download name={`glim-usage-by-${by}.csv`} text={() => historyCsv(by, rows, report.price_unit)} />
        <Command text={`${command} --format csv`} />
      </div>
    </div>
  );
}

// In one sentence and one bar: how much, how much of it was good, what is not in it.
function Answer({
  report,
  total,
  command,
  other,
}: {
  report: Report;
  total: HistoryRow;
  command: string;
  other: HistoryRow | null;
}) {
  const { t, i18n } = useTranslation('usage');
  const parts = historyParts(total);
  return (
    <section className={styles.answer} aria-label={t('answer.title')}>
      <p>
        <Explained words={t('columns.gpuHoursWords')} command={command}>
          <strong data-part="sum">
            <GpuHours gpuMs={total.gpu_ms} />
          </strong>
        </Explained>{' '}
        {t(report.running ? 'answer.running' : 'answer.ended', {
          count: num(total.jobs),
          jobs: formatNumber(total.jobs, i18n.language),
        })}{' '}
        {!report.running && report.since_ms > 0 && (
          <span className="weak" title={formatMoment(report.since_ms, i18n.language)}>
            {t('answer.since')} <Time atMs={report.since_ms} />.
          </span>
        )}{' '}
        {report.price_unit && (
          <Explained words={t('columns.priceWords')} command={command}>
            {formatNumber(total.price, i18n.language, 2)} <span data-name>{report.price_unit}</span>
          </Explained>
        )}
      </p>
      <Stack parts={parts} high />
      <Legend parts={parts} command={command} />
      <p className={styles.note}>
        <Other running={report.running} total={other} />
      </p>
      {total.simulated_gpus && <SimulatedGpus />}
    </section>
  );
}

// Together both are everything: each says what the other has.
function Other({ running, total }: { running: boolean; total: HistoryRow | null }) {
  const { t } = useTranslation('usage');
  if (!total || num(total.jobs) === 0) return null;
  return (
    <span className="weak">
      {t(running ? 'answer.otherEnded' : 'answer.otherRunning')} <GpuHours gpuMs={total.gpu_ms} />:{' '}
      <Link href={running ? '/usage' : '/usage?tab=running'}>{t(running ? 'tabs.ended' : 'tabs.running')}</Link>
    </span>
  );
}

function Groups(props: Props & { report: Report; rows: HistoryRow[]; command: string }) {
  const { t, i18n } = useTranslation('usage');
  const { by, report, rows, command, set } = props;
  const columns = useMemo(
    () => columnsOf(t, i18n.language, by, report, command),
    [t, i18n.language, by, report, command],
  );
  // From a pool to its teams, from a team to its users, from a user to the jobs.
  const narrow = (row: HistoryRow) => {
    if (by === 'class') return;
    const next = { pool: '', team: 'user', user: 'job', job: 'job' }[by];
    set({ by: next, ...(by === 'job' ? {} : { [by]: row.name }) });
  };
  const acts = by === 'job' ? { linkOf: (row: HistoryRow) => jobPath(BigInt(row.name)) } : { onChoose: narrow };
  return (
    <DataTable
      label={t('groups', { by: t(`by.${by}`) })}
      rows={rows}
      columns={columns}
      keyOf={(row) => row.name}
      rowsMax={16}
      {...(by === 'class' ? {} : acts)}
    />
  );
}

function NameOf({ by, row }: { by: Group; row: HistoryRow }) {
  const { t } = useTranslation('usage');
  if (row.name === '') return <span className="weak">{t('noName')}</span>;
  if (by === 'class') return t(`common:classes.${row.name}`, { defaultValue: row.name });
  if (by === 'job' && /^\d+$/.test(row.name)) {
    return (
      <JobLink id={BigInt(row.name)}>
        {row.name} <span data-name>{row.job_name}</span>
      </JobLink>
    );
  }
  return <span data-name>{row.name}</span>;
}

function columnsOf(t: TFunction, language: string, by: Group, report: Report, command: string): Columns<HistoryRow> {
  const of = createColumnHelper<HistoryRow>();
  const max = Math.max(...report.rows.map((row) => num(row.gpu_ms)), 1);
  const all = num(report.total?.gpu_ms ?? 0) || 1;
  const percent = (share: number) => formatPercent(share, language);
  const number = (width: string, words: string, wide = false) => ({ number: true, width, words, wide, command });
  return [
    of.accessor('name', {
      header: t(`by.${by}`),
      meta: { width: 'minmax(90px, 1fr)' },
      cell: ({ row }) => <NameOf by={by} row={row.original} />,
    }),
    of.display({
      id: 'bar',
      header: t('columns.bar'),
      meta: { width: 'minmax(80px, 2fr)', wide: true },
      cell: ({ row }) => <Stack parts={historyParts(row.original)} max={max} />,
    }),
    of.accessor((row) => num(row.gpu_ms), {
      id: 'gpu_hours',
      header: t('columns.gpuHours'),
      meta: number('124px', t('columns.gpuHoursWords')),
      cell: (cell) => formatGpuHours(cell.getValue(), language),
    }),
    of.accessor((row) => num(row.gpu_ms) / all, {
      id: 'share',
      header: t('columns.share'),
      meta: number('80px', t('columns.shareWords'), true),
      cell: (cell) => percent(cell.getValue()),
    }),
    of.accessor((row) => shareOf(historyParts(row), 'productive'), {
      id: 'productive',
      header: t('parts.productive'),
      meta: number('122px', t('parts.productiveWords')),
      cell: (cell) => percent(cell.getValue()),
    }),
    of.accessor((row) => shareOf(historyParts(row), 'lost'), {
      id: 'lost',
      header: t('parts.lost'),
      meta: number('76px', t('parts.lostWords'), true),
      cell: (cell) => percent(cell.getValue()),
    }),
    of.accessor('jobs', {
      header: t('columns.jobs'),
      meta: number('72px', t('columns.jobsWords'), true),
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor('failed', {
      header: t('columns.failed'),
      meta: number('82px', t('columns.failedWords'), true),
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor('interrupts', {
      header: t('columns.interrupts'),
      meta: number('108px', t('columns.interruptsWords'), true),
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    ...(report.price_unit ? [priceColumn(t, language, report.price_unit, command)] : []),
  ];
}

function priceColumn(t: TFunction, language: string, unit: string, command: string): Columns<HistoryRow>[number] {
  return {
    accessorKey: 'price',
    header: () => (
      <>
        {t('columns.price')}
        <span className="hidden" data-name>{` ${unit}`}</span>
      </>
    ),
    meta: { number: true, wide: true, width: '116px', words: t('columns.priceWords'), command },
    cell: (cell) => formatNumber(cell.getValue<number>(), language, 2),
  };
}
