// Who has which nodes from when to when: made, changed and taken back here.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { doAsShown, TRY } from '../../api/step';
import { ActionDialog } from '../../ui/ActionDialog';
import { Dash, Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { quote } from '../submit/shell';
import styles from './Admin.module.css';
import { removeReservation } from './queries';
import type { Reservation } from './reservation';
import { ReservationDialog, Told } from './ReservationDialog';
import { useReservations } from './reserved';

type Asked = { what: 'add' } | { what: 'change' | 'remove'; row: Reservation };

export function Reservations() {
  const { t } = useTranslation('admin');
  const known = useReservations();
  const [asked, setAsked] = useState<Asked | null>(null);
  const columns = useMemo(() => columnsOf(t, setAsked), [t]);
  const close = () => setAsked(null);
  if (known.isPending) return <Loading />;
  if (known.isError) return <ErrorNote error={known.error} again={() => void known.refetch()} />;
  return (
    <>
      <div className={styles.head}>
        <p className="weak">{t('words.reservation')}</p>
        <Button onClick={() => setAsked({ what: 'add' })}>{t('add.reservation')}</Button>
      </div>
      <DataTable
        label={t('tabs.reservation')}
        rows={known.data.reservations}
        columns={columns}
        keyOf={(one) => one.name}
        empty={<EmptyState title={t('none')} />}
      />
      <div className={styles.foot}>
        <Command text="glim admin reserve ls" />
      </div>
      {asked?.what === 'add' && <ReservationDialog before={null} onClose={close} />}
      {asked?.what === 'change' && <ReservationDialog before={asked.row} onClose={close} />}
      {asked?.what === 'remove' && <Remove name={asked.row.name} onClose={close} />}
    </>
  );
}

function Remove({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation('admin');
  return (
    <ActionDialog
      title={t('removeOf', { name })}
      verb={t('remove')}
      preview={() => removeReservation(name, TRY)}
      previewKey={['reservation removed', name]}
      show={({ before }) => (
        <>
          <Told told={{ before, after: null, jobs: [] }} />
          <p>{t('reservationGoes')}</p>
        </>
      )}
      act={(_, shown) => removeReservation(name, doAsShown(shown))}
      reason="none"
      command={`glim admin reserve rm ${quote(name)}`}
      danger
      onClose={onClose}
    />
  );
}

function columnsOf(t: TFunction, ask: (asked: Asked) => void): Columns<Reservation> {
  const of = createColumnHelper<Reservation>();
  const named = (key: 'name' | 'team' | 'reason' | 'made_by', width: string, wide = false) =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width, wide },
      cell: (cell) => (cell.getValue() ? <span data-name>{cell.getValue()}</span> : <Dash />),
    });
  const time = (key: 'begins_at_ms' | 'ends_at_ms', wide = false) =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width: '104px', wide },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    });
  return [
    named('name', 'minmax(90px, 1fr)'),
    named('team', '90px', true),
    of.accessor((row) => row.node_names.join(', ') || `${row.share} × ${row.pool}`, {
      id: 'what',
      header: t('fields.nodes'),
      meta: { width: 'minmax(100px, 1fr)', wide: true },
      cell: (cell) => <span data-name>{cell.getValue()}</span>,
    }),
    time('begins_at_ms', true),
    time('ends_at_ms'),
    of.accessor('state', {
      header: t('fields.state'),
      meta: { width: '90px', wide: true },
      cell: (cell) => t(`reservationStates.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    named('made_by', '80px', true),
    named('reason', 'minmax(100px, 2fr)', true),
    of.display({
      id: 'acts',
      header: () => <span className="hidden">{t('acts')}</span>,
      meta: { width: '164px' },
      cell: ({ row: { original: row } }) => (
        <>
          {(['change', 'remove'] as const).map((what) => (
            <Button
              key={what}
              kind="quiet"
              className={styles.small}
              aria-label={t(`${what}Of`, { name: row.name })}
              onClick={() => ask({ what, row })}
            >
              {t(what)}
            </Button>
          ))}
        </>
      ),
    }),
  ];
}
