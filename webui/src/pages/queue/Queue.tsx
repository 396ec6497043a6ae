import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useQueue } from '../../live/hooks';
import { jobPath } from '../../shell/links';
import { Count } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import { Button } from '../../ui/Button';
import { DataTable } from '../../ui/DataTable';
import { FilterBar, type Filter } from '../../ui/FilterBar';
import { Page } from '../../ui/Page';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { useFilters } from '../../ui/useFilters';
import { useMayChange } from '../job/actions';
import { Why } from '../job/Why';
import { columnsOf } from './columns';
import styles from './Queue.module.css';
import { FILTERS, filtered, listed, valuesOf, type Listed, type QueueFilters } from './select';

export default function QueuePage() {
  const { t } = useTranslation('queue');
  const { ready, rows } = useQueue();
  const [filters, set] = useFilters(...FILTERS, 'job');
  const all = useMemo(() => listed(rows), [rows]);
  const shown = useMemo(() => filtered(all, filters), [all, filters]);
  const columns = useMemo(() => columnsOf(t), [t]);
  const chosen = all.find((row) => String(row.id) === filters.job);
  const fields = useFields(all, filters);
  const waiting = all.filter((row) => row.inLine > 0).length;
  if (!ready) return <Loading />;
  return (
    <Page title={t('title')}>
      <FilterBar filters={filters} set={set} fields={fields}>
        <span data-part="counts">{t('counts', { waiting, all: all.length, shown: shown.length })}</span>
      </FilterBar>
      <div className={chosen ? styles.both : undefined}>
        <DataTable
          label={t('title')}
          rows={shown}
          columns={columns}
          keyOf={(row) => String(row.id)}
          chosen={filters.job || undefined}
          onChoose={(row) => set({ job: String(row.id) === filters.job ? '' : String(row.id) })}
          empty={
            <EmptyState title={t(all.length ? 'noneSuch' : 'none')}>{all.length ? '' : t('noneWords')}</EmptyState>
          }
        />
        {chosen && <Panel row={chosen} onClose={() => set({ job: '' })} />}
      </div>
    </Page>
  );
}

function useFields(rows: Listed[], filters: QueueFilters): Filter<keyof QueueFilters>[] {
  const { t } = useTranslation('queue');
  const plain = (value: string) => ({ value, label: value });
  return [
    {
      name: 'state',
      label: t('state'),
      options: valuesOf(rows, filters.state, (row) => row.state).map((value) => ({
        value,
        label: t(`common:jobStates.${value}`),
      })),
    },
    { name: 'user', label: t('user'), options: valuesOf(rows, filters.user, (row) => row.user).map(plain) },
    { name: 'team', label: t('team'), options: valuesOf(rows, filters.team, (row) => row.team).map(plain) },
    { name: 'pool', label: t('pool'), options: valuesOf(rows, filters.pool, (row) => row.pool).map(plain) },
    {
      name: 'class',
      label: t('class'),
      options: valuesOf(rows, filters.class, (row) => row.priority).map((value) => ({
        value,
        label: t(`common:classes.${value}`),
      })),
    },
    { name: 'name', label: t('nameOrNumber') },
  ];
}

// Beside the list: why the chosen job waits.
function Panel({ row, onClose }: { row: Listed; onClose: () => void }) {
  const { t } = useTranslation(['queue', 'job']);
  const mayChange = useMayChange(row);
  const title = t('job:title', { id: String(row.id), name: row.name });
  return (
    <aside className={styles.panel} aria-label={title}>
      <div className={styles.panelHead}>
        <h2>
          <Link href={jobPath(row.id)}>{title}</Link>
        </h2>
        <Badge kind="jobStates" state={row.state} />
        <Button kind="quiet" onClick={onClose} aria-label={t('common:close')}>
          ✕
        </Button>
      </div>
      {row.inLine > 0 && (
        <p className="weak">
          {t('placeInLine')} <Count value={row.inLine} />. {t('orderWords')}
        </p>
      )}
      {row.state === 'queued' ? (
        <Why id={row.id} changed={`${row.priority} ${row.attempts}`} mayChange={mayChange} />
      ) : (
        <p>{t(row.state === 'held' ? 'isHeld' : 'hasNodes')}</p>
      )}
    </aside>
  );
}
