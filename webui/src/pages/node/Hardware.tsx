// What the node is made of, as its agent found it.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { Bytes, Count, Dash, Said } from '../../ui/amounts';
import { DataTable, type Columns } from '../../ui/DataTable';
import { Facts } from '../../ui/Facts';
import { EmptyState } from '../../ui/states-of-pages';
import { rateOf } from './finding';
import styles from './Node.module.css';

type Inventory = Schemas['NodeInventory'];
type Gpu = Schemas['GpuDevice'];
type Nic = Schemas['NicDevice'];
type Disk = Schemas['DiskDevice'];

const ROWS_MAX = 8;
const named = (text: string) => (text ? <span data-name>{text}</span> : <Dash />);
const numa = (node: number) => (node < 0 ? <Dash /> : node);

function gpuColumns(t: TFunction): Columns<Gpu> {
  const of = createColumnHelper<Gpu>();
  return [
    of.accessor('index', { header: '#', meta: { number: true, width: '44px' }, cell: (cell) => cell.getValue() }),
    of.accessor('type', {
      header: t('gpuType'),
      meta: { width: 'minmax(140px, 2fr)' },
      cell: (cell) => named(cell.getValue()),
    }),
    of.accessor((one) => Number(one.memory_bytes), {
      id: 'memory',
      header: t('memory'),
      meta: { number: true, width: '100px' },
      cell: ({ row: { original } }) => <Bytes value={original.memory_bytes} />,
    }),
    of.accessor('pci', {
      header: 'PCI',
      meta: { width: '130px', wide: true },
      cell: (cell) => named(cell.getValue()),
    }),
    of.accessor('numa_node', {
      header: 'NUMA',
      meta: { number: true, width: '80px', wide: true },
      cell: (cell) => numa(cell.getValue()),
    }),
    of.accessor((one) => one.nvlink.join(' '), {
      id: 'links',
      header: t('nvlinkTo'),
      meta: { width: 'minmax(90px, 1fr)', wide: true },
      cell: (cell) => named(cell.getValue()),
    }),
  ];
}

function nicColumns(t: TFunction, language: string): Columns<Nic> {
  const of = createColumnHelper<Nic>();
  return [
    of.accessor('name', {
      header: t('card'),
      meta: { width: 'minmax(100px, 1fr)' },
      cell: (cell) => named(cell.getValue()),
    }),
    of.accessor('kind', { header: t('kind'), meta: { width: '110px' }, cell: (cell) => named(cell.getValue()) }),
    of.accessor('state', { header: t('state'), meta: { width: '90px' }, cell: (cell) => named(cell.getValue()) }),
    of.accessor((one) => Number(one.rate_mbps), {
      id: 'rate',
      header: t('rate'),
      meta: { number: true, width: '100px' },
      cell: (cell) => rateOf(cell.getValue(), language) || <Dash />,
    }),
    of.accessor('numa_node', {
      header: 'NUMA',
      meta: { number: true, width: '80px', wide: true },
      cell: (cell) => numa(cell.getValue()),
    }),
  ];
}

function diskColumns(t: TFunction): Columns<Disk> {
  const of = createColumnHelper<Disk>();
  return [
    of.accessor('name', {
      header: t('disk'),
      meta: { width: 'minmax(100px, 1fr)' },
      cell: (cell) => named(cell.getValue()),
    }),
    of.accessor((one) => Number(one.bytes), {
      id: 'size',
      header: t('size'),
      meta: { number: true, width: '100px' },
      cell: ({ row: { original } }) => <Bytes value={original.bytes} />,
    }),
    of.accessor('rotational', {
      header: t('kind'),
      meta: { width: '110px' },
      cell: (cell) => t(cell.getValue() ? 'rotates' : 'flash'),
    }),
    of.accessor('model', {
      header: t('model'),
      meta: { width: 'minmax(120px, 2fr)', wide: true },
      cell: (cell) => named(cell.getValue()),
    }),
  ];
}

// `undefined`: it is being asked for. `null`: the scheduler was not told.
export function Hardware({ inventory, simulated }: { inventory: Inventory | null | undefined; simulated: boolean }) {
  const { t } = useTranslation('node');
  return (
    <section className={styles.section} aria-label={t('hardware')} data-part="hardware">
      <h2>{t('hardware')}</h2>
      {inventory === null && <EmptyState title={t('noInventory')}>{t('noInventoryWords')}</EmptyState>}
      {inventory && (
        <>
          {simulated && <p className="weak">{t('simulatedHere')}</p>}
          <Machine inventory={inventory} />
          <Parts inventory={inventory} />
        </>
      )}
    </section>
  );
}

function Machine({ inventory }: { inventory: Inventory }) {
  const { t } = useTranslation('node');
  const counted = (value: number) => (value > 0 ? <Count value={value} /> : null);
  return (
    <>
      <Facts
        facts={[
          [t('cpuModel'), inventory.cpu_model ? named(inventory.cpu_model) : null],
          [t('cpus'), counted(inventory.cpus)],
          [t('cores'), counted(inventory.cores)],
          [t('cpuSockets'), counted(inventory.sockets)],
          [t('numaNodes'), counted(inventory.numa_nodes)],
          [t('memory'), Number(inventory.memory_bytes) > 0 ? <Bytes value={inventory.memory_bytes} /> : null],
          [t('kernel'), inventory.kernel ? named(inventory.kernel) : null],
          [t('driver'), inventory.gpu_driver ? named(inventory.gpu_driver) : null],
        ]}
      />
      {inventory.warnings.map((warning) => (
        <p key={warning}>
          {t('notFound')}: <Said text={warning} />
        </p>
      ))}
    </>
  );
}

function Parts({ inventory }: { inventory: Inventory }) {
  const { t, i18n } = useTranslation('node');
  const gpus = useMemo(() => gpuColumns(t), [t]);
  const nics = useMemo(() => nicColumns(t, i18n.language), [t, i18n.language]);
  const disks = useMemo(() => diskColumns(t), [t]);
  return (
    <div className={styles.parts}>
      {inventory.gpus.length > 0 && (
        <DataTable
          label={t('gpus')}
          rows={inventory.gpus}
          columns={gpus}
          keyOf={(one) => String(one.index)}
          rowsMax={ROWS_MAX}
          sortName="gpus"
        />
      )}
      {inventory.nics.length > 0 && (
        <DataTable
          label={t('cards')}
          rows={inventory.nics}
          columns={nics}
          keyOf={(one) => one.name}
          rowsMax={ROWS_MAX}
          sortName="cards"
        />
      )}
      {inventory.disks.length > 0 && (
        <DataTable
          label={t('disks')}
          rows={inventory.disks}
          columns={disks}
          keyOf={(one) => one.name}
          rowsMax={ROWS_MAX}
          sortName="disks"
        />
      )}
    </div>
  );
}
