import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { compareInts } from '../../api/int';
import { JobLink } from '../../shell/links';
import { Count, Dash, Step, Time } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import type { Columns } from '../../ui/DataTable';
import { gpusOf, type Listed } from './select';

export function columnsOf(t: TFunction): Columns<Listed> {
  const of = createColumnHelper<Listed>();
  return [
    of.accessor('inLine', {
      header: '#',
      meta: { number: true, width: '58px', words: t('inLineWords'), command: 'glim queue' },
      cell: (cell) => (cell.getValue() ? <Count value={cell.getValue()} /> : <Dash />),
    }),
    of.accessor('id', {
      header: t('job'),
      meta: { number: true, width: '60px' },
      sortingFn: (a, b) => compareInts(a.original.id, b.original.id),
      cell: (cell) => <JobLink id={cell.getValue()} />,
    }),
    of.accessor('name', { header: t('name'), meta: { width: 'minmax(82px, 2fr)' } }),
    of.accessor('state', {
      header: t('state'),
      meta: { width: '108px' },
      cell: (cell) => <Badge kind="jobStates" state={cell.getValue()} />,
    }),
    of.accessor('user', { header: t('user'), meta: { wide: true, width: 'minmax(56px, 1fr)' } }),
    of.accessor('team', {
      header: t('team'),
      meta: { wide: true, width: 'minmax(52px, 1fr)' },
      cell: (cell) => cell.getValue() || <Dash />,
    }),
    of.accessor('pool', { header: t('pool'), meta: { wide: true, width: 'minmax(68px, 1fr)' } }),
    of.accessor('priority', {
      header: t('class'),
      meta: { wide: true, width: '110px', words: t('classWords'), command: 'glim queue' },
      sortingFn: (a, b) => compareInts(b.original.place[1] ?? 0, a.original.place[1] ?? 0),
      cell: (cell) => t(`common:classes.${cell.getValue()}`),
    }),
    ...amountColumns(t),
  ];
}

function amountColumns(t: TFunction): Columns<Listed> {
  const of = createColumnHelper<Listed>();
  return [
    of.accessor('nodes', {
      header: t('nodes'),
      sortingFn: 'basic',
      meta: { number: true, wide: true, width: '64px' },
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor(gpusOf, {
      id: 'gpus',
      header: t('gpus'),
      meta: { number: true, width: '58px' },
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor('submitted_at_ms', {
      id: 'submitted',
      header: t('submitted'),
      meta: { wide: true, number: true, width: '110px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
    of.accessor('interrupts', {
      header: t('interrupts'),
      sortingFn: 'basic',
      meta: { number: true, wide: true, width: '112px', words: t('interruptsWords') },
      cell: (cell) => <Count value={cell.getValue()} />,
    }),
    of.accessor('durable_step', {
      id: 'saved',
      header: t('saved'),
      sortingFn: 'basic',
      meta: { number: true, wide: true, width: '116px', words: t('savedWords') },
      cell: (cell) => <Step value={cell.getValue()} />,
    }),
  ];
}
