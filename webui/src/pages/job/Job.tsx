import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'wouter';
import type { Schemas } from '../../api/client';
import { parseId, type Int } from '../../api/int';
import { useJob } from '../../live/hooks';
import type { JobDetail } from '../../live/types';
import { Gpus, Lasted, Step, Time } from '../../ui/amounts';
import { SaidOfJobs } from '../../shell/links';
import { jobPath } from '../../shell/links';
import { Badge } from '../../ui/Badge';
import button from '../../ui/Button.module.css';
import { Explained } from '../../ui/Explained';
import { Facts } from '../../ui/Facts';
import { Page } from '../../ui/Page';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { Tabs } from '../../ui/Tabs';
import { useFilters } from '../../ui/useFilters';
import { JobActions, useMayChange } from './actions';
import { Attempts } from './Attempts';
import { Events, Nodes } from './Details';
import styles from './Job.module.css';
import { Ledger } from './Ledger';
import { Rates } from './Rates';
import { Receipts } from './Receipts';
import { lastInterrupt, numberOf } from './segments';
import { SpecFile } from './SpecFile';
import { Timeline } from './Timeline';
import { Why } from './Why';

// What is said of such a job is of the attempt before.
const HAS_NODES = ['starting', 'running'];

export default function JobPage() {
  const { t } = useTranslation('job');
  const id = parseId(useParams<{ id: string }>().id);
  if (id === null) return <EmptyState title={t('wrongId')} />;
  return <Shown key={String(id)} id={id} />;
}

function Shown({ id }: { id: Int }) {
  const { t } = useTranslation('job');
  const { ready, job } = useJob(id);
  if (!ready) return <Loading />;
  if (!job) return <EmptyState title={t('none', { id: String(id) })}>{t('noneWords')}</EmptyState>;
  const title = t('title', { id: String(id), name: job.spec?.name ?? '' });
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
        <>
          <Link href={`${jobPath(id)}/logs`} className={button.button}>
            {t('logs')}
          </Link>
          <JobActions job={job} />
        </>
      }
    >
      {job.message && (
        <p className={styles.said}>
          {HAS_NODES.includes(job.state) && job.attempts.length > 1 && <>{t('saidBefore')} </>}
          <SaidOfJobs text={job.message} />
        </p>
      )}
      <Head job={job} />
      {job.state === 'queued' && <Waits job={job} />}
      <Story job={job} />
    </Page>
  );
}

// Which attempt and which interrupt are looked at stands in the address: `?attempt=2`, `?interrupt=2.1`.
function Story({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const [{ attempt, interrupt }, set] = useFilters('attempt', 'interrupt');
  const wanted = Number(attempt || interrupt.split('.')[0]);
  const chosen = job.attempts.find((one) => numberOf(one) === wanted);
  const shown = chosen ?? job.attempts.at(-1);
  const first = chosen && lastInterrupt(chosen);
  const receipt = interrupt || (first && chosen ? `${numberOf(chosen)}.${first.id}` : '');
  const choose = (number: number) => set({ attempt: number === wanted ? '' : String(number), interrupt: '' });
  return (
    <>
      {job.attempts.length > 0 && (
        <>
          <h2>{t('timeline')}</h2>
          <Timeline job={job} chosen={chosen ? numberOf(chosen) : 0} choose={choose} />
        </>
      )}
      {job.attempts.length > 0 && (
        <div className={styles.two}>
          <section aria-label={t('receipt.title')} className={styles.card}>
            <h2>{t('receipt.title')}</h2>
            <Receipts job={job} chosen={receipt} />
          </section>
          <div className={styles.column}>
            <Rates job={job} />
            <Ledger job={job} />
          </div>
        </div>
      )}
      <Tabs
        label={t('details')}
        tabs={[
          { key: 'attempts', title: t('attempts'), content: () => <Attempts job={job} /> },
          {
            key: 'nodes',
            title: shown ? t('nodes.of', { number: numberOf(shown) }) : t('nodes.title'),
            content: () => <Nodes job={job} attempt={shown} />,
          },
          { key: 'events', title: t('events.title'), content: () => <Events job={job} /> },
          { key: 'spec', title: t('spec.title'), content: () => <SpecFile job={job} /> },
        ]}
      />
    </>
  );
}

function Waits({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const mayChange = useMayChange(job);
  return (
    <section aria-label={t('why.title')}>
      <h2>{t('why.title')}</h2>
      <Why id={job.id} changed={`${job.priority} ${job.attempt_count}`} mayChange={mayChange} />
    </section>
  );
}

function Unsaved({ failure, command }: { failure: Schemas['SaveFailure']; command: string }) {
  const { t } = useTranslation('job');
  return (
    <Explained words={t('unsavedWords')} command={command}>
      {t('unsavedTries', { count: failure.count, why: failure.why })}
    </Explained>
  );
}

function Head({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const command = `glim status ${job.id}`;
  const last = job.attempts.at(-1);
  return (
    <Facts
      facts={[
        [t('user'), job.user],
        [t('team'), job.team || null],
        [t('pool'), job.spec?.pool || null],
        [t('class'), t(`common:classes.${job.priority}`)],
        [
          t('gpus'),
          <Explained key="gpus" words={t('gpusWords')} command={command}>
            <Gpus count={job.gpus} simulated={job.gpus_simulated} />
          </Explained>,
        ],
        [t('submitted'), <Time key="submitted" atMs={job.submitted_at_ms} />],
        [t('ended'), job.ended_at_ms ? <Time key="ended" atMs={job.ended_at_ms} /> : null],
        [
          t('interrupts'),
          <Explained key="interrupts" words={t('interruptsWords')} command={command}>
            {job.interrupts}
          </Explained>,
        ],
        [
          t('stepsLost'),
          <Explained key="lost" words={t('stepsLostWords')} command={command}>
            <Step value={job.steps_lost} />
          </Explained>,
        ],
        [
          t('durable'),
          <Explained key="durable" words={t('durableWords')} command={command}>
            <Step value={job.durable_step} />
          </Explained>,
        ],
        [
          t('unsaved'),
          last?.save_failure ? <Unsaved key="unsaved" failure={last.save_failure} command={command} /> : null,
        ],
        [t('lastStep'), last ? <Step key="step" value={last.last_step} /> : null],
        [t('runs'), last?.running_at_ms ? <Lasted fromMs={last.running_at_ms} toMs={last.ended_at_ms} /> : null],
      ]}
    />
  );
}
