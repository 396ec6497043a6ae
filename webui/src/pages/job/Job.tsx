import { useTranslation } from 'react-i18next';
import { useParams } from 'wouter';
import { parseId, type Int } from '../../api/int';
import { useJob } from '../../live/hooks';
import type { JobDetail } from '../../live/types';
import { Gpus, Lasted, Step, Time } from '../../ui/amounts';
import { SaidOfJobs } from '../../shell/links';
import { Badge } from '../../ui/Badge';
import { Explained } from '../../ui/Explained';
import { Facts } from '../../ui/Facts';
import { Page } from '../../ui/Page';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { JobActions, useMayChange } from './actions';
import { Attempts } from './Attempts';
import { Why } from './Why';

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
      actions={<JobActions job={job} />}
    >
      {job.message && (
        <p>
          <SaidOfJobs text={job.message} />
        </p>
      )}
      <Head job={job} />
      {job.state === 'queued' && <Waits job={job} />}
      <h2>{t('attempts')}</h2>
      <Attempts job={job} />
    </Page>
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
        [t('lastStep'), last ? <Step key="step" value={last.last_step} /> : null],
        [t('runs'), last?.running_at_ms ? <Lasted fromMs={last.running_at_ms} toMs={last.ended_at_ms} /> : null],
      ]}
    />
  );
}
