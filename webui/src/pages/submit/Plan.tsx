// What a submission would come to now: when, where, whom it would interrupt and what that would cost them.
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { JobLink, NodeLink, SaidOfJobs } from '../../shell/links';
import { Count, Duration, GpuHours, Said, Step, Time } from '../../ui/amounts';
import { StateShape } from '../../ui/Badge';
import { BlockerLine, Estimate, JobIds } from '../job/Why';
import type { Planned } from './queries';
import styles from './Submit.module.css';

export function Plan({ jobs }: { jobs: Planned[] }) {
  const { t } = useTranslation('submit');
  return (
    <>
      {jobs.map((job, at) => (
        <article key={at} className={styles.planned} data-part="planned">
          {jobs.length > 1 && (
            <h3>
              <span data-name>{job.name}</span>
            </h3>
          )}
          {job.start ? <Starts start={job.start} /> : <Waits job={job} />}
          {job.saves && (
            <p className="weak">
              <Said text={job.saves} />
            </p>
          )}
        </article>
      ))}
      <p className={styles.why}>{t('plan.moment')}</p>
    </>
  );
}

const NODES_SHOWN = 12;

function Starts({ start }: { start: Schemas['PlannedStart'] }) {
  const { t } = useTranslation('submit');
  const waits = start.victims.length > 0 || start.awaited_job_ids.length > 0;
  return (
    <>
      <p className={styles.verdict}>
        <StateShape shape={waits ? 'half' : 'disc'} colour={waits ? '--state-warn' : '--state-good'} />
        <strong>
          <SaidOfJobs text={start.message} />
        </strong>
      </p>
      <dl className={styles.facts}>
        <dt>{t('plan.class')}</dt>
        <dd>
          {t(`common:classes.${start.priority}`, { defaultValue: start.priority })}
          {start.borrowed && ` (${t('plan.borrowed')})`}
        </dd>
        <dt>{t('plan.nodes')}</dt>
        <dd>
          <Count value={start.node_count} />:{' '}
          {start.nodes.slice(0, NODES_SHOWN).map((node, at) => (
            <span key={node.name}>
              {at > 0 && ', '}
              <span data-name>
                <NodeLink name={node.name} />
              </span>
            </span>
          ))}
          {start.node_count > NODES_SHOWN && ' …'}
        </dd>
        {start.awaited_job_ids.length > 0 && (
          <>
            <dt>{t('plan.awaited')}</dt>
            <dd>
              <JobIds ids={start.awaited_job_ids} />
            </dd>
          </>
        )}
        {start.displaced_job_ids.length > 0 && (
          <>
            <dt>{t('plan.displaced')}</dt>
            <dd>
              <JobIds ids={start.displaced_job_ids} />
            </dd>
          </>
        )}
      </dl>
      {start.victims.length > 0 && <Victims victims={start.victims} />}
    </>
  );
}

export function Victims({ victims }: { victims: Schemas['Victim'][] }) {
  const { t } = useTranslation('submit');
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={t('plan.victims')}>
      <table className={styles.victims}>
        <caption>{t('plan.victims')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('plan.job')}</th>
            <th scope="col">{t('plan.user')}</th>
            <th scope="col">{t('plan.class')}</th>
            <th scope="col">{t('plan.cost')}</th>
            <th scope="col">{t('plan.sinceSave')}</th>
          </tr>
        </thead>
        <tbody>
          {victims.map((victim) => (
            <tr key={String(victim.job_id)}>
              <td>
                <JobLink id={victim.job_id} /> <span data-name>{victim.name}</span>
              </td>
              <td data-name>{victim.user}</td>
              <td>{t(`common:classes.${victim.priority}`, { defaultValue: victim.priority })}</td>
              <td>
                <GpuHours gpuMs={victim.preemption_cost_gpu_ms} />
              </td>
              <td>
                <Duration ms={victim.since_save_ms} />, <Step value={victim.steps_since_save} /> {t('plan.steps')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Waits({ job }: { job: Planned }) {
  const { t } = useTranslation(['submit', 'job']);
  const { outlook, blockers } = job;
  return (
    <>
      <p className={styles.verdict}>
        <StateShape shape="ring" colour="--state-wait" />
        <strong>{t('plan.waits')}</strong>
      </p>
      <ul className={styles.blockers}>
        {blockers.map((blocker, at) => (
          <BlockerLine key={at} blocker={blocker} />
        ))}
      </ul>
      {outlook && (
        <dl className={styles.facts}>
          {outlook.estimate && (
            <>
              <dt>{t('plan.starts')}</dt>
              <dd>
                <Estimate estimate={outlook.estimate} />
              </dd>
            </>
          )}
          {outlook.promised_by_at_ms > 0 && (
            <>
              <dt>{t('plan.promised')}</dt>
              <dd>
                <Time atMs={outlook.promised_by_at_ms} />
              </dd>
            </>
          )}
          <dt>{t('plan.ahead')}</dt>
          <dd>
            <Count value={outlook.ahead_count} />
            {outlook.ahead_job_ids.length > 0 && (
              <>
                : <JobIds ids={outlook.ahead_job_ids} more={outlook.ahead_count > outlook.ahead_job_ids.length} />
              </>
            )}
          </dd>
        </dl>
      )}
    </>
  );
}
