import { useDeferredValue, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { nodePath } from '../../shell/links';
import { DataTable } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { FilterBar, type Filter } from '../../ui/FilterBar';
import { formatNumber } from '../../ui/format';
import { Page } from '../../ui/Page';
import { EmptyState, Loading, SimulatedGpus } from '../../ui/states-of-pages';
import { Tabs } from '../../ui/Tabs';
import { useFilters } from '../../ui/useFilters';
import styles from './Cluster.module.css';
import { BYS, CLASSES, Colouring, type By } from './colour';
import { columnsOf } from './columns';
import { Legend } from './Legend';
import { ClusterMap } from './ClusterMap';
import { crossings as crossingsOf, TILE_STATES, type Tile, type View } from './model';
import { Pointing } from './pointing';
import { filtered, FILTERS, matcherOf, valuesOf, type MapFilters } from './select';
import { Card, Link, Out, Reserved } from './Side';
import { Slider, spanOf } from './Slider';
import { useCluster } from './sources';

type Set = (change: Partial<MapFilters>) => void;

export default function ClusterPage() {
  const { t, i18n } = useTranslation('cluster');
  const [filters, set] = useFilters(...FILTERS);
  const [moment, setMoment] = useFilters('at', 'span');
  const atMs = /^\d{1,15}$/.test(moment.at) ? Number(moment.at) : 0;
  const { ready, view, past, error, asking } = useCluster(atMs);
  const [colouring] = useState(() => new Colouring());
  const fields = useFields(view.tiles, filters);
  const left = useMemo(() => filtered(view.tiles, filters), [view.tiles, filters]);
  if (!ready) return <Loading />;
  const shown = { view, filters, set, colouring, left };
  const count = (value: number) => formatNumber(value, i18n.language);
  const isSimulated = view.tiles.some((tile) => tile.simulated);
  return (
    <Page
      title={t('title')}
      heading={
        <>
          {t('title')}{' '}
          <span className={styles.counts} data-part="counts">
            {t(left.length < view.tiles.length ? 'countsLeft' : 'counts', {
              left: count(left.length),
              nodes: count(view.tiles.length),
              gpus: count(left.reduce((sum, tile) => sum + tile.gpus, 0)),
            })}
          </span>
        </>
      }
      actions={isSimulated && <SimulatedGpus />}
    >
      <FilterBar filters={filters} set={set} fields={fields} />
      {view.tiles.length === 0 ? (
        <EmptyState title={t(atMs ? 'noneThen' : 'none')}>{atMs ? '' : t('noneWords')}</EmptyState>
      ) : (
        <Tabs
          label={t('view')}
          name="view"
          tabs={[
            { key: 'map', title: t('map'), content: () => <MapView {...shown} isPast={past !== null} /> },
            { key: 'table', title: t('table'), content: () => <Table {...shown} /> },
          ]}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <Slider
        atMs={atMs}
        span={spanOf(moment.span)}
        set={setMoment}
        asking={asking}
        complete={past ? past.complete : null}
      />
    </Page>
  );
}

interface ShownProps {
  view: View;
  filters: MapFilters;
  set: Set;
  colouring: Colouring;
  left: Tile[];
}

function MapView({ view, filters, set, colouring, isPast }: ShownProps & { isPast: boolean }) {
  const { t } = useTranslation('cluster');
  const [{ by: word }, setBy] = useFilters('by');
  const by: By = BYS.find((one) => one === word) ?? 'state';
  const [pointing] = useState(() => new Pointing());
  const matches = useMemo(() => matcherOf(filters), [filters]);
  const entries = useMemo(() => colouring.entries(by, view.tiles), [colouring, by, view.tiles]);
  const crossings = useMemo(() => crossingsOf(view.tiles), [view.tiles]);
  const zones = useMemo(() => new Set(view.places.map(({ zone }) => zone)).size, [view.places]);
  const names = useMemo(() => new Map(view.tiles.map((tile) => [String(tile.job), tile.jobName])), [view.tiles]);
  return (
    <div className={styles.both}>
      <ClusterMap
        view={view}
        by={by}
        colouring={colouring}
        matches={matches}
        crossings={crossings}
        pointing={pointing}
      />
      <aside className={styles.side} aria-label={t('beside')}>
        <Card view={view} pointing={pointing} isPast={isPast} />
        <label className={styles.by}>
          {t('colourBy')}
          <select
            value={by}
            onChange={(event) => setBy({ by: event.target.value === 'state' ? '' : event.target.value })}
          >
            {BYS.map((one) => (
              <option key={one} value={one}>
                {t(one)}
              </option>
            ))}
          </select>
        </label>
        <Legend entries={entries} filters={filters} set={set} names={names} />
        <Out tiles={view.tiles} isPast={isPast} />
        <Link crossings={crossings} zones={zones} pointing={pointing} />
        <Reserved tiles={view.tiles} />
      </aside>
    </div>
  );
}

// The same nodes as rows, for whoever reads rather than looks.
function Table({ left, colouring }: ShownProps) {
  const { t } = useTranslation('cluster');
  const columns = useMemo(() => columnsOf(t, colouring), [t, colouring]);
  const rows = useDeferredValue(left);
  return (
    <DataTable
      label={t('title')}
      rows={rows}
      columns={columns}
      keyOf={(tile) => tile.name}
      linkOf={(tile) => nodePath(tile.name)}
      empty={<EmptyState title={t('noneSuch')} />}
    />
  );
}

function useFields(tiles: readonly Tile[], filters: MapFilters): Filter<keyof MapFilters>[] {
  const { t } = useTranslation('cluster');
  return useMemo(() => {
    const plain = (value: string) => ({ value, label: value });
    const inOrder = (order: readonly string[], values: string[]) =>
      values.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    const states = inOrder(
      TILE_STATES,
      valuesOf(tiles, filters.state, (tile) => tile.state),
    );
    const classes = inOrder(
      CLASSES,
      valuesOf(tiles, filters.class, (tile) => tile.priority),
    );
    return [
      {
        name: 'state',
        label: t('state'),
        options: states.map((value) => ({ value, label: t(`states.${value}`) })),
      },
      { name: 'user', label: t('user'), options: valuesOf(tiles, filters.user, (tile) => tile.user).map(plain) },
      {
        name: 'class',
        label: t('class'),
        options: classes.map((value) => ({ value, label: t(`common:classes.${value}`) })),
      },
      { name: 'pool', label: t('pool'), options: valuesOf(tiles, filters.pool, (tile) => tile.pool).map(plain) },
      { name: 'zone', label: t('zone'), options: valuesOf(tiles, filters.zone, (tile) => tile.zone).map(plain) },
      { name: 'job', label: t('jobNumber') },
      { name: 'name', label: t('nodeName') },
    ];
  }, [t, tiles, filters]);
}
