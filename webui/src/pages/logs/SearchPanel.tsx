// A word in the logs, searched by the nodes that keep them; its lines are a list that leads to them.
import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { Bytes, Said } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { ErrorNote } from '../../ui/ErrorNote';
import { Loading } from '../../ui/states-of-pages';
import type { Filters } from '../../ui/useFilters';
import { textOf } from './ansi';
import { logAttemptsOf, targetText, type Target } from './attempts';
import { around, splitBy } from './lines';
import type { FILTERS } from './Logs';
import styles from './Logs.module.css';
import { useSearch, type Found } from './queries';

const ROWS_MAX = 6;

type Words = Filters<(typeof FILTERS)[number]>;

interface Props {
  job: JobDetail;
  ranks: number[];
  filters: Words;
  set: (change: Partial<Words>) => void;
  show: (at: Target) => void;
}

export function SearchPanel(props: Props) {
  const { job, ranks, filters, set } = props;
  const { t } = useTranslation('logs');
  const [word, setWord] = useState(filters.word);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set({ word });
  };
  return (
    <search aria-label={t('search')}>
      <form className={styles.search} onSubmit={submit}>
        <input
          type="search"
          aria-label={t('searchFor')}
          placeholder={t('searchFor')}
          value={word}
          maxLength={200}
          onChange={(event) => setWord(event.target.value)}
        />
        <Button type="submit" disabled={word === ''}>
          {t('search')}
        </Button>
        <Choice label={t('scope')} value={filters.in} set={(value) => set({ in: value })}>
          <option value="">{t('allRanks')}</option>
          {ranks.map((rank) => (
            <option key={rank} value={rank}>
              {t('oneRank', { rank })}
            </option>
          ))}
        </Choice>
        <Choice label={t('searchAttempt')} value={filters.attempt} set={(value) => set({ attempt: value })}>
          <option value="">{t('newest')}</option>
          {logAttemptsOf(job).map(({ number }) => (
            <option key={number} value={number}>
              {number}
            </option>
          ))}
        </Choice>
        <Check label={t('ignoreCase')} value={filters.case === 'any'} set={(on) => set({ case: on ? 'any' : '' })} />
        <Check label={t('newestFirst')} value={filters.newest === '1'} set={(on) => set({ newest: on ? '1' : '' })} />
      </form>
      {filters.word && <Results key={filters.word} {...props} />}
    </search>
  );
}

function Choice(props: { label: string; value: string; set: (value: string) => void; children: React.ReactNode }) {
  return (
    <label className={styles.check}>
      {props.label}
      <select value={props.value} onChange={(event) => props.set(event.target.value)}>
        {props.children}
      </select>
    </label>
  );
}

function Check({ label, value, set }: { label: string; value: boolean; set: (on: boolean) => void }) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={value} onChange={(event) => set(event.target.checked)} />
      {label}
    </label>
  );
}

type Hit = Found['lines'][number] & { attempt: number };

function Results({ job, filters, set, show }: Props) {
  const { t } = useTranslation('logs');
  const { word, attempt, newest } = filters;
  const ignoreCase = filters.case === 'any';
  const rank = filters.in === '' ? undefined : Number(filters.in);
  const found = useSearch({
    job: job.id,
    attempt: Number(attempt || 0),
    rank,
    word,
    ignoreCase,
    newestFirst: newest === '1',
  });
  const columns = useMemo(() => columnsOf(t, word, ignoreCase), [t, word, ignoreCase]);
  if (found.isPending) return <Loading />;
  if (found.isError) return <ErrorNote error={found.error} again={() => void found.refetch()} />;
  const pages = found.data.pages;
  const hits: Hit[] = pages.flatMap((page) =>
    page.lines.filter((line) => line.match).map((line) => ({ ...line, attempt: page.attempt })),
  );
  const searched = pages.reduce((sum, page) => sum + Number(page.searched_bytes), 0);
  const gaps = pages.flatMap((page) => page.gaps);
  const placeOf = (hit: Hit) => ({ rank: hit.rank, attempt: hit.attempt, offset: Number(hit.offset) });
  return (
    <div className={styles.results} data-part="results">
      <div className={styles.search}>
        <span role="status">
          {t(found.hasNextPage ? 'foundMore' : 'found', { count: hits.length })}{' '}
          <span className="weak">
            · <Bytes value={searched} /> {t('searched')}
          </span>
        </span>
        {found.hasNextPage && (
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {t('goOn')}
          </Button>
        )}
        <Button kind="quiet" onClick={() => set({ word: '', at: '' })} aria-label={t('closeSearch')}>
          ✕
        </Button>
      </div>
      {gaps.map((gap) => (
        <p key={gap.rank} className="weak">
          {t('gap', { rank: gap.rank, node: gap.node })} <Said text={gap.why} />
        </p>
      ))}
      {hits.length > 0 ? (
        <DataTable
          label={t('results')}
          rows={hits}
          columns={columns}
          keyOf={(hit) => targetText(placeOf(hit))}
          rowsMax={ROWS_MAX}
          chosen={filters.at || undefined}
          onChoose={(hit) => show(placeOf(hit))}
        />
      ) : (
        !found.hasNextPage && <p className="weak">{t('nothing')}</p>
      )}
    </div>
  );
}

function columnsOf(t: TFunction, word: string, ignoreCase: boolean): Columns<Hit> {
  const of = createColumnHelper<Hit>();
  return [
    of.accessor('rank', { header: t('rankShort'), enableSorting: false, meta: { number: true, width: '64px' } }),
    of.accessor('text', {
      header: t('line'),
      enableSorting: false,
      meta: { width: 'minmax(200px, 1fr)' },
      cell: (cell) => (
        <code lang="en">
          {splitBy(around(textOf(cell.getValue()), word, ignoreCase), word, ignoreCase).map((part, at) =>
            at % 2 === 1 ? <mark key={at}>{part}</mark> : part,
          )}
        </code>
      ),
    }),
  ];
}
