// What each GPU did in each second since its node came: jobs or none. The sum is held against what the nodes had.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { num } from '../../api/int';
import { JobLink } from '../../shell/links';
import { Count, GpuHours } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command, Explained } from '../../ui/Explained';
import { formatGpuHours, formatPercent } from '../../ui/format';
import { EmptyState, Loading, SimulatedGpus } from '../../ui/states-of-pages';
import { Download } from './Download';
import { ledgerCsv, ledgerParts, shareOf, type LedgerRow } from './parts';
import { useLedger, type Group } from './queries';
import { Legend, Stack } from './Stack';
import styles from './Usage.module.css';

export function Ledger({ by }: { by: Group }) {
  const { t } = useTranslation('usage');
  const asked = useLedger(by);
  const { i18n } = useTranslation();
  const columns = useMemo(
    () => (asked.data ? columnsOf(t, i18n.language, asked.data) : []),
    [t, i18n.language, asked.data],
  );
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  const { rows, total, total_gpu_ms, registered_gpu_ms, simulated_gpus } = asked.data;
  const command = `glim admin report --by ${asked.data.by}`;
  if (num(registered_gpu_ms) === 0) return <EmptyState title={t('ledger.none')} />;
  const agrees = total_gpu_ms === registered_gpu_ms;
  return (
    <div aria-busy={asked.isFetching}>
      <section className={styles.answer} aria-label={t('answer.title')}>
        <p>
          <Explained words={t('ledger.words')} command={command}>
            <strong data-part="sum">
              <GpuHours gpuMs={registered_gpu_ms} />
            </strong>
          </Explained>{' '}
          {t('ledger.sentence')} {by === 'class' && t('ledger.noClass')}{' '}
          <span className="weak">{t(agrees ? 'ledger.agrees' : 'ledger.broken')}</span>
        </p>
        <Stack parts={ledgerParts(total)} high />
        <Legend parts={ledgerParts(total)} command={command} />
        {simulated_gpus && <SimulatedGpus />}
      </section>
      <DataTable
        label={t('tabs.ledger')}
        rows={rows}
        columns={columns}
        keyOf={(row) => `${row.kind} ${row.name}`}
        rowsMax={16}
      />
      <div className={styles.foot}>
        <Download name={`glim-ledger-by-${asked.data.by}.csv`} text={() => ledgerCsv(asked.data.by, rows)} />
        <Command text={command} />
      </div>
    </div>
  );
}

function NameOf({ row }: { row: LedgerRow }) {
  const { t } = useTranslation('usage');
  if (row.kind === 'job') {
    return (
      <JobLink id={BigInt(row.name)}>
        {row.name} <span data-name>{row.job_name}</span>
      </JobLink>
    );
  }
  if (['others', 'forgotten', 'no_job'].includes(row.kind)) {
    return <span className="weak">{t(`ledger.kinds.${row.kind}`)}</span>;
  }
  return row.name ? <span data-name>{row.name}</span> : <span className="weak">{t('noName')}</span>;
}

function columnsOf(t: TFunction, language: string, { rows, by }: Schemas['GetReportResponse']): Columns<LedgerRow> {
  const of = createColumnHelper<LedgerRow>();
  const max = Math.max(...rows.map((row) => num(row.gpu_ms)), 1);
  const command = `glim admin report --by ${by}`;
  const share = (use: 'productive' | 'lost' | 'free', width: string, wide: boolean) =>
    of.accessor((row) => shareOf(ledgerParts(row.uses), use), {
      id: use,
      header: t(`parts.${use}`),
      meta: { number: true, width, wide, words: t(`parts.${use}Words`), command },
      cell: (cell) => formatPercent(cell.getValue(), language),
    });
  return [
    of.accessor('name', {
      header: t(`by.${by}`),
      meta: { width: 'minmax(90px, 1fr)' },
      cell: ({ row }) => <NameOf row={row.original} />,
    }),
    of.display({
      id: 'bar',
      header: t('columns.bar'),
      meta: { width: 'minmax(120px, 3fr)', wide: true },
      cell: ({ row }) => <Stack parts={ledgerParts(row.original.uses)} max={max} />,
    }),
    of.accessor((row) => num(row.gpu_ms), {
      id: 'gpu_hours',
      header: t('columns.gpuHours'),
      meta: { number: true, width: '124px', words: t('ledger.words'), command },
      cell: (cell) => formatGpuHours(cell.getValue(), language),
    }),
    share('productive', '122px', false),
    share('lost', '76px', true),
    share('free', '76px', true),
    of.accessor('count', {
      header: t(by === 'pool' ? 'columns.nodes' : 'columns.jobs'),
      meta: { number: true, width: '72px', wide: true },
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
  ];
}
