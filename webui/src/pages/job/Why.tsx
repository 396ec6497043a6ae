// Why a job waits: reasons in words, who is before it, when it may start, what would start it now. Also shown by the
// page of the queue.
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import type { Int } from '../../api/int';
import { JobLink, SaidOfJobs } from '../../shell/links';
import { Count, Said, Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { ErrorNote } from '../../ui/ErrorNote';
import { Explained } from '../../ui/Explained';
import { Loading } from '../../ui/states-of-pages';
import { PriorityAction } from './actions';
import { useWhy } from './queries';
import styles from './Why.module.css';

type Blocker = Schemas['Blocker'];
type Outlook = Schemas['Outlook'];
type Counterfactual = Schemas['Counterfactual'];

// `changed`: what of the job's row makes an older answer wrong.
export function Why({ id, changed, mayChange }: { id: Int; changed: unknown; mayChange: boolean }) {
  const { t } = useTranslation('job');
  const why = useWhy(id, changed);
  if (why.isPending) return <Loading />;
  if (why.isError) return <ErrorNote error={why.error} again={() => void why.refetch()} />;
  const { job, outlook, counterfactuals } = why.data;
  return (
    <div className={styles.why} aria-busy={why.isFetching}>
      {outlook && <Start outlook={outlook} id={id} />}
      <Part title={t('why.reasons')}>
        <ul className={styles.list}>
          {job?.blockers.map((blocker, at) => (
            <BlockerLine key={at} blocker={blocker} />
          ))}
        </ul>
      </Part>
      {outlook && (
        <Part title={t('why.tried')}>
          <p className="weak">{t(counterfactuals.length > 0 ? 'why.triedWords' : 'why.triedNone')}</p>
          <ul className={styles.list}>
            {counterfactuals.map((one, at) => (
              <Tried key={at} id={id} tried={one} mayChange={mayChange} />
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function BlockerLine({ blocker }: { blocker: Blocker }) {
  const { t } = useTranslation('common');
  const { kind, message, job_ids } = blocker;
  return (
    <li>
      <strong>{t(`blockers.${kind}`, { defaultValue: kind })}</strong>: <SaidOfJobs text={message} />
      {job_ids.length > 0 && !/\bjobs? \d/.test(message) && (
        <>
          {' '}
          <JobIds ids={job_ids} />
        </>
      )}
    </li>
  );
}

const IDS_MAX = 8;

export function JobIds({ ids, more = false }: { ids: Int[]; more?: boolean }) {
  return (
    <span>
      {ids.slice(0, IDS_MAX).map((id, at) => (
        <span key={String(id)}>
          {at > 0 && ', '}
          <JobLink id={id} />
        </span>
      ))}
      {(more || ids.length > IDS_MAX) && ' …'}
    </span>
  );
}

function Start({ outlook, id }: { outlook: Outlook; id: Int }) {
  const { t } = useTranslation('job');
  const { estimate, ahead_count, ahead_job_ids } = outlook;
  return (
    <dl className={styles.start}>
      <dt>
        <Explained words={t('why.startWords')} command={`glim why ${id}`}>
          {t('why.start')}
        </Explained>
      </dt>
      <dd data-part="estimate">{estimate && <Estimate estimate={estimate} />}</dd>
      {outlook.promised_by_at_ms > 0 && (
        <>
          <dt>
            <Explained words={t('why.promisedWords')} command={`glim why ${id}`}>
              {t('why.promised')}
            </Explained>
          </dt>
          <dd>
            <Time atMs={outlook.promised_by_at_ms} />
          </dd>
        </>
      )}
      <dt>
        <Explained words={t('why.aheadWords')} command={`glim why ${id}`}>
          {t('why.ahead')}
        </Explained>
      </dt>
      <dd data-part="ahead">
        {ahead_count > 0 ? (
          <>
            <Count value={ahead_count} />: <JobIds ids={ahead_job_ids} more={ahead_count > ahead_job_ids.length} />
          </>
        ) : (
          t('why.nobody')
        )}
      </dd>
    </dl>
  );
}

// A range, never a single moment; what is not known is said.
export function Estimate({ estimate }: { estimate: Schemas['StartEstimate'] }) {
  const { t } = useTranslation('job');
  const { earliest_at_ms, latest_at_ms, unknown } = estimate;
  const why = unknown && (
    <span className="weak">
      {' '}
      (<Said text={unknown} />)
    </span>
  );
  if (earliest_at_ms === 0) {
    return (
      <>
        {t('why.unknown')}
        {why}
      </>
    );
  }
  return (
    <>
      <Time atMs={earliest_at_ms} /> {t('why.to')} {latest_at_ms > 0 ? <Time atMs={latest_at_ms} /> : t('why.open')}
      {why}
    </>
  );
}

// A change with which it would start now: a class can be set at once, the rest belongs into the job's file.
function Tried({ id, tried, mayChange }: { id: Int; tried: Counterfactual; mayChange: boolean }) {
  const { t } = useTranslation('job');
  const [asking, setAsking] = useState(false);
  const { change, value, message } = tried;
  return (
    <li>
      <SaidOfJobs text={message} />
      {change === 'priority' && mayChange && (
        <>
          {' '}
          <Button onClick={() => setAsking(true)}>{t('why.try')}</Button>
          {asking && <PriorityAction id={id} first={value} onClose={() => setAsking(false)} />}
        </>
      )}
    </li>
  );
}
