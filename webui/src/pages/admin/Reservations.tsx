import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { ActionDialog } from '../../ui/ActionDialog';
import { Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import styles from './Admin.module.css';
import { removeReservation, useReservations } from './queries';

type Reservation = Schemas['Reservation'];

export function Reservations() {
  const { t } = useTranslation('admin');
  const asked = useReservations();
  const [ending, setEnding] = useState('');
  const columns = useMemo(() => columnsOf(t, setEnding), [t]);
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  return (
    <>
      <p className="weak">{t('words.reservation')}</p>
      <DataTable
        label={t('tabs.reservation')}
        rows={asked.data.reservations}
        columns={columns}
        keyOf={(one) => one.name}
        empty={<EmptyState title={t('none')} />}
      />
      <Command text="glim admin reserve set NAME --team T --pool P --nodes N --for 4h --reason TEXT" />
      {ending && (
        <ActionDialog
          title={t('removeOf', { name: ending })}
          verb={t('remove')}
          preview={() => removeReservation(ending, true)}
          previewKey={['reservation', ending]}
          show={() => <p>{t('reservationGoes')}</p>}
          act={() => removeReservation(ending, false)}
          reason="none"
          command={`glim admin reserve rm ${ending}`}
          danger
          onClose={() => setEnding('')}
        />
      )}
    </>
  );
}

function columnsOf(t: TFunction, end: (name: string) => void): Columns<Reservation> {
  const of = createColumnHelper<Reservation>();
  const named = (key: 'name' | 'team' | 'reason' | 'made_by', width: string, wide = false) =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width, wide },
      cell: (cell) => <span data-name>{cell.getValue()}</span>,
    });
  const time = (key: 'begins_at_ms' | 'ends_at_ms') =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width: '112px' },
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
    time('begins_at_ms'),
    time('ends_at_ms'),
    of.accessor('state', {
      header: t('fields.state'),
      meta: { width: '100px', wide: true },
      cell: (cell) => t(`reservationStates.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    named('made_by', '90px', true),
    named('reason', 'minmax(100px, 2fr)', true),
    of.display({
      id: 'acts',
      header: () => <span className="hidden">{t('acts')}</span>,
      meta: { width: '96px' },
      cell: ({ row }) => (
        <Button
          kind="quiet"
          className={styles.small}
          aria-label={t('removeOf', { name: row.original.name })}
          onClick={() => end(row.original.name)}
        >
          {t('remove')}
        </Button>
      ),
    }),
  ];
}
