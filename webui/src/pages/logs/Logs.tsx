// The logs of a job: up to four ranks beside each other, over all attempts, with a search where the logs lie.
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'wouter';
import { parseId, type Int } from '../../api/int';
import { useHasRole, useSession } from '../../api/session';
import { useJob } from '../../live/hooks';
import type { JobDetail } from '../../live/types';
import { jobPath } from '../../shell/links';
import { Badge } from '../../ui/Badge';
import { Button } from '../../ui/Button';
import button from '../../ui/Button.module.css';
import { Explained } from '../../ui/Explained';
import { Page } from '../../ui/Page';
import { EmptyState, Loading, NoPermission } from '../../ui/states-of-pages';
import { useFilters } from '../../ui/useFilters';
import { chosenRanks, logAttemptsOf, PANES_MAX, ranksOf, targetOf, targetText, type Target } from './attempts';
import styles from './Logs.module.css';
import { Pane } from './Pane';
import { SearchPanel } from './SearchPanel';
import { Traceback } from './Traceback';

export default function LogsPage() {
  const { t } = useTranslation('logs');
  const text = useParams<{ id: string }>().id;
  const id = parseId(text);
  if (id === null) return <EmptyState title={t('none', { id: text })} />;
  return <OfJob key={String(id)} id={id} />;
}

function OfJob({ id }: { id: Int }) {
  const { t } = useTranslation('logs');
  const { ready, job } = useJob(id);
  if (!ready) return <Loading />;
  if (!job) return <EmptyState title={t('none', { id: String(id) })} />;
  return <Shown job={job} />;
}

export const FILTERS = ['ranks', 'at', 'word', 'case', 'in', 'attempt', 'newest'] as const;

function Shown({ job }: { job: JobDetail }) {
  const { t } = useTranslation('logs');
  const [filters, set] = useFilters(...FILTERS);
  const [follows, setFollows] = useState(true);
  const mayRead = useMayRead(job);
  const count = ranksOf(job);
  const ranks = chosenRanks(filters.ranks, count);
  const target = targetOf(filters.at);
  const show = (at: Target) => {
    const others = ranks.slice(ranks.length < PANES_MAX ? 0 : 1);
    const shown = ranks.includes(at.rank) ? ranks : filters.ranks === '' ? [at.rank] : [...others, at.rank];
    set({ at: targetText(at), ranks: shown.join(',') });
  };
  const title = t('title', { id: String(job.id), name: job.spec?.name ?? '' });
  const body = !mayRead ? (
    <NoPermissionToRead />
  ) : logAttemptsOf(job).length === 0 ? (
    <EmptyState title={t('noLogs')} />
  ) : (
    <div className={styles.all}>
      <div className={styles.bar}>
        {count > 1 && <Ranks ranks={ranks} count={count} set={(next) => set({ ranks: next.join(',') })} />}
        <label className={styles.check}>
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} />
          <Explained words={t('followWords')} command={`glim logs ${job.id} -f --rank ${ranks[0]}`}>
            {t('follow')}
          </Explained>
        </label>
        <Traceback job={job} show={show} />
      </div>
      <SearchPanel job={job} ranks={ranks} filters={filters} set={set} show={show} />
      <div className={styles.panes} data-count={ranks.length}>
        {ranks.map((rank) => (
          <Pane
            key={rank}
            job={job}
            rank={rank}
            follows={follows}
            target={target?.rank === rank ? target : null}
            word={filters.word}
            ignoreCase={filters.case === 'any'}
            onClose={ranks.length > 1 ? () => set({ ranks: ranks.filter((one) => one !== rank).join(',') }) : undefined}
          />
        ))}
      </div>
    </div>
  );
  return (
    <Page
      title={title}
      heading={
        <>
          <span>{title}</span>
          <Badge kind="jobStates" state={job.state} />
        </>
      }
      actions={
        <Link href={jobPath(job.id)} className={button.button}>
          {t('toJob')}
        </Link>
      }
    >
      {body}
    </Page>
  );
}

// As far as the page can know: the scheduler decides.
function useMayRead(job: JobDetail): boolean {
  const { user, admin_of } = useSession();
  return useHasRole('operator') || user === job.user || admin_of.includes(job.team);
}

function NoPermissionToRead() {
  const { t } = useTranslation('logs');
  return (
    <>
      <NoPermission />
      <p className={styles.why}>{t('notYours')}</p>
    </>
  );
}

function Ranks({ ranks, count, set }: { ranks: number[]; count: number; set: (ranks: number[]) => void }) {
  const { t } = useTranslation('logs');
  const next = Array.from({ length: Math.min(count, PANES_MAX + 1) }, (_, rank) => rank).find(
    (one) => !ranks.includes(one),
  );
  const [text, setText] = useState('');
  const rank = text === '' ? next : Number(text);
  const full = ranks.length >= PANES_MAX || ranks.length >= count;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (rank === undefined || ranks.includes(rank)) return;
    set([...ranks, rank]);
    setText('');
  };
  return (
    <form className={styles.ranks} onSubmit={submit}>
      <label>
        {t('addRank')}{' '}
        <input
          type="number"
          min={0}
          max={count - 1}
          value={text}
          placeholder={next === undefined ? '' : String(next)}
          onChange={(event) => setText(event.target.value)}
          disabled={full}
        />
      </label>
      <span className="weak">{t('ofRanks', { count })}</span>
      <Button type="submit" disabled={full}>
        {t('add')}
      </Button>
    </form>
  );
}
