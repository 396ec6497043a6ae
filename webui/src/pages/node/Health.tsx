// What the node's health checks find, and what was done about it.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { JobLink } from '../../shell/links';
import { Dash, Said, Time } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { EmptyState } from '../../ui/states-of-pages';
import { findingOf, measuredOf, type Found } from './finding';
import styles from './Node.module.css';

type Condition = Schemas['HealthCondition'];
type Event = Schemas['HealthEvent'];

const ROWS_MAX = 8;

function Evidence({ found }: { found: Found }) {
  const { t, i18n } = useTranslation('node');
  const measured = measuredOf(t, found, i18n.language);
  if (!measured && !found.text) return <Dash />;
  return (
    <>
      {measured && <span data-name>{measured} </span>}
      <Said text={found.text} />
    </>
  );
}

const deviceColumn = (t: TFunction) => ({ header: t('device'), meta: { width: '140px', wide: true } });
const verdictColumn = (t: TFunction) => ({ header: t('verdict'), meta: { width: 'minmax(120px, 180px)' } });
const Device = ({ device }: { device: string }) => (device ? <span data-name>{device}</span> : <Dash />);

function conditionColumns(t: TFunction): Columns<Condition> {
  const of = createColumnHelper<Condition>();
  return [
    of.accessor((one) => findingOf(t, one.check), {
      id: 'check',
      header: t('isSo'),
      meta: { width: 'minmax(110px, 1fr)' },
      cell: (cell) => cell.getValue(),
    }),
    of.accessor('device', { ...deviceColumn(t), cell: (cell) => <Device device={cell.getValue()} /> }),
    of.accessor('since_ms', {
      header: t('since'),
      meta: { width: '110px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor('verdict', {
      ...verdictColumn(t),
      cell: (cell) => t(`verdicts.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    of.display({
      id: 'evidence',
      header: t('evidence'),
      meta: { width: 'minmax(140px, 3fr)', wide: true },
      cell: ({ row: { original } }) => <Evidence found={original} />,
    }),
  ];
}

function eventColumns(t: TFunction): Columns<Event> {
  const of = createColumnHelper<Event>();
  return [
    of.accessor((one) => findingOf(t, one.check, one.code), {
      id: 'check',
      header: t('happened'),
      meta: { width: 'minmax(110px, 1fr)' },
      cell: (cell) => cell.getValue(),
    }),
    of.accessor('device', { ...deviceColumn(t), cell: (cell) => <Device device={cell.getValue()} /> }),
    of.accessor('at_ms', {
      header: t('when'),
      meta: { width: '110px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor('verdict', {
      ...verdictColumn(t),
      cell: (cell) => t(`verdicts.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    of.accessor((one) => Number(one.job_id), {
      id: 'job',
      header: t('job'),
      meta: { number: true, wide: true, width: '70px' },
      cell: ({ row: { original } }) => (original.job_id ? <JobLink id={original.job_id} /> : <Dash />),
    }),
    of.display({
      id: 'evidence',
      header: t('evidence'),
      meta: { width: 'minmax(140px, 3fr)', wide: true },
      cell: ({ row: { original } }) => <Evidence found={original} />,
    }),
  ];
}

export function Health({ conditions, events }: { conditions: Condition[]; events: Event[] }) {
  const { t } = useTranslation('node');
  const conditionsShown = useMemo(() => conditionColumns(t), [t]);
  const eventsShown = useMemo(() => eventColumns(t), [t]);
  return (
    <section className={styles.section} aria-label={t('health')} data-part="health">
      <h2>{t('health')}</h2>
      {conditions.length + events.length === 0 && <EmptyState title={t('healthy')}>{t('healthyWords')}</EmptyState>}
      <div className={styles.parts}>
        {conditions.length > 0 && (
          <DataTable
            label={t('isSo')}
            rows={conditions}
            columns={conditionsShown}
            keyOf={(one) => `${one.check} ${one.device}`}
            rowsMax={ROWS_MAX}
            sortName="found"
          />
        )}
        {events.length > 0 && (
          <DataTable
            label={t('happened')}
            rows={events}
            columns={eventsShown}
            keyOf={(one) => `${one.check} ${one.device} ${String(one.code)} ${one.at_ms} ${one.verdict}`}
            rowsMax={ROWS_MAX}
            sortName="happened"
          />
        )}
      </div>
    </section>
  );
}
