import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { JobLink, NodeLink } from '../../shell/links';
import { Count, Dash, Gpus, Said, Time } from '../../ui/amounts';
import type { Columns } from '../../ui/DataTable';
import type { Colouring } from './colour';
import { keyOf } from './colour';
import { Sign } from './Legend';
import { TILE_STATES, type Tile } from './model';

const compareNames = new Intl.Collator('en', { numeric: true }).compare;

export function columnsOf(t: TFunction, colouring: Colouring): Columns<Tile> {
  const of = createColumnHelper<Tile>();
  return [
    of.accessor('name', {
      header: t('node'),
      meta: { width: 'minmax(110px, 1.4fr)' },
      sortingFn: (a, b) => compareNames(a.original.name, b.original.name),
      cell: (cell) => (
        <span data-name>
          <NodeLink name={cell.getValue()} />
        </span>
      ),
    }),
    of.accessor('state', {
      header: t('state'),
      meta: { width: '120px', words: t('stateWords'), command: 'glim nodes' },
      sortingFn: (a, b) => TILE_STATES.indexOf(a.original.state) - TILE_STATES.indexOf(b.original.state),
      cell: ({ row: { original } }) => (
        <>
          <Sign look={colouring.lookOf(keyOf('state', original))} /> {t(`states.${original.state}`)}
        </>
      ),
    }),
    ...placeColumns(t),
    of.accessor('job', {
      header: t('job'),
      meta: { number: true, width: '72px' },
      sortingFn: (a, b) => Number(a.original.job ?? -1) - Number(b.original.job ?? -1),
      cell: (cell) => (cell.getValue() === null ? <Dash /> : <JobLink id={cell.getValue()!} />),
    }),
    of.accessor('user', { header: t('user'), meta: { wide: true }, cell: (cell) => named(cell.getValue()) }),
    of.accessor('priority', {
      header: t('class'),
      meta: { wide: true, width: '110px' },
      cell: (cell) => (cell.getValue() ? t(`common:classes.${cell.getValue()}`) : <Dash />),
    }),
    of.accessor(({ node, reserved }) => node.cordon?.reason || node.fault || node.message || reserved.join('; '), {
      id: 'why',
      header: t('why'),
      meta: { wide: true, width: 'minmax(140px, 2fr)' },
      cell: (cell) => (cell.getValue() ? <Said text={cell.getValue()} /> : <Dash />),
    }),
    of.accessor(({ node }) => node.cordon?.until_ms ?? 0, {
      id: 'until',
      header: t('untilHead'),
      meta: { wide: true, width: '100px' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    }),
  ];
}

function placeColumns(t: TFunction): Columns<Tile> {
  const of = createColumnHelper<Tile>();
  return [
    of.accessor('zone', { header: t('zone'), meta: { width: '64px' }, cell: (cell) => named(cell.getValue()) }),
    of.accessor('leaf', {
      header: t('leaf'),
      meta: { wide: true, width: '70px' },
      cell: (cell) => named(cell.getValue()),
    }),
    of.accessor('pool', { header: t('pool'), meta: { wide: true }, cell: (cell) => named(cell.getValue()) }),
    of.accessor('gpus', {
      header: t('gpus'),
      meta: { number: true, wide: true, width: '130px', words: t('gpusWords') },
      cell: ({ row: { original } }) => (
        <>
          <Count value={original.used} /> / <Gpus count={original.gpus} simulated={original.simulated} />
        </>
      ),
    }),
  ];
}

function named(text: string) {
  return text ? <span data-name>{text}</span> : <Dash />;
}
