import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'wouter';
import { useEvents, useNode, useQueueRow } from '../../live/hooks';
import { useReserved } from '../admin/reserved';
import type { NodeRow } from '../../live/types';
import { JobLink } from '../../shell/links';
import { Gpus, Said, Time } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command, Explained } from '../../ui/Explained';
import { Facts } from '../../ui/Facts';
import { Page } from '../../ui/Page';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { nodeStateOf } from '../cluster/model';
import { NodeActions } from './actions';
import { Hardware } from './Hardware';
import { Health } from './Health';
import { adviceOf, askedAgainAt } from './finding';
import { Events, Holders } from './Past';
import { merged, sinceOf } from './history';
import styles from './Node.module.css';
import { useNodeEvents, useWholeNode } from './queries';

type Ref = NonNullable<NodeRow['holder']>;

export default function NodePage() {
  const name = decodeURIComponent(useParams<{ name: string }>().name ?? '');
  return <Shown key={name} name={name} />;
}

function Shown({ name }: { name: string }) {
  const { t } = useTranslation('node');
  const { ready, row } = useNode(name);
  const live = useEvents();
  const asked = useNodeEvents(name);
  const events = useMemo(() => merged(asked.data ?? [], live, name), [asked.data, live, name]);
  const whole = useWholeNode(name, askedAgainAt(events));
  if (!ready) return <Loading />;
  const title = t('title', { name });
  if (!row) {
    return (
      <Page title={title}>
        <EmptyState title={t('none', { name })}>{t('noneWords')}</EmptyState>
        {events.length > 0 && <Events events={events} />}
      </Page>
    );
  }
  return (
    <Page
      title={title}
      heading={
        <>
          <span>
            {t('node')} <span data-name>{name}</span>
          </span>
          <Badge kind="nodeStates" state={nodeStateOf(row)} />
        </>
      }
      actions={
        <>
          <Link className={styles.onMap} href={`/cluster?name=${encodeURIComponent(name)}`}>
            {t('onMap')}
          </Link>
          <NodeActions node={row} />
        </>
      }
    >
      <State node={row} sinceMs={sinceOf(events)} />
      <Head node={row} />
      <Jobs node={row} />
      <Health conditions={row.health_conditions} events={whole.data?.health_events ?? []} />
      <Hardware inventory={whole.data?.inventory} simulated={row.labels?.simulated_gpus ?? false} />
      {whole.isError && <ErrorNote error={whole.error} again={() => void whole.refetch()} />}
      {asked.isError && <ErrorNote error={asked.error} again={() => void asked.refetch()} />}
      <Events events={events} />
      <Holders name={name} />
    </Page>
  );
}

// Since when it is as it is, who did it, and why.
function State({ node, sinceMs }: { node: NodeRow; sinceMs: number }) {
  const { t } = useTranslation('node');
  const { cordon } = node;
  const reserved = useReserved();
  return (
    <div className={styles.state} data-part="state">
      {cordon && <Cordoned cordon={cordon} />}
      {!cordon && sinceMs > 0 && (
        <p className="weak">
          {t('since')} <Time atMs={sinceMs} />
        </p>
      )}
      {node.message && !cordon && <Words label={t('message')} text={node.message} />}
      {node.fault && <Words label={t('fault')} text={node.fault} />}
      {node.hardware_differs && (
        <>
          <Words label={t('differs')} text={node.hardware_differs} />
          <p className="weak">{t('differsWords')}</p>
          <Command text={`glim admin node label ${node.name} --gpus N`} />
        </>
      )}
      {node.checkpoint_root_error && <Words label={t('checkpointRoot')} text={node.checkpoint_root_error} />}
      {(reserved ? (reserved.get(node.name) ?? []) : node.reserved).map((words) => (
        <p key={words}>
          {t('reserved')}: <span data-name>{words}</span>
        </p>
      ))}
      {node.suspect_until_ms > 0 && (
        <p>
          {t('suspect')} <Time atMs={node.suspect_until_ms} />: <Said text={node.suspect_why} />
        </p>
      )}
      {node.validation && <Measured validation={node.validation} />}
    </div>
  );
}

// What glim-validate found, and whether it is to measure the node.
function Measured({ validation }: { validation: NonNullable<NodeRow['validation']> }) {
  const { t } = useTranslation('node');
  const { need, job_id, good_at_ms, bad } = validation;
  return (
    <>
      {bad && <Words label={t('foundBad')} text={bad} />}
      {good_at_ms > 0 && (
        <p className="weak">
          {t('foundGood')} <Time atMs={good_at_ms} />
        </p>
      )}
      {need && <p>{t(`needs.${need}`, { defaultValue: need })}</p>}
      {job_id > 0 && (
        <p>
          {t('measuredBy')} <JobLink id={job_id} />
        </p>
      )}
    </>
  );
}

function Cordoned({ cordon }: { cordon: NonNullable<NodeRow['cordon']> }) {
  const { t } = useTranslation('node');
  const who = <b data-name>{cordon.by}</b>;
  const { why, advice } = adviceOf(cordon.by, cordon.reason);
  return (
    <>
      <p>
        {t(cordon.drain ? 'drainedBy' : 'cordonedBy')} {who}, <Time atMs={cordon.since_ms} />:{' '}
        <span data-name>{why}</span>
        {cordon.until_ms > 0 && (
          <>
            {' '}
            ({t('until')} <Time atMs={cordon.until_ms} />)
          </>
        )}
      </p>
      {advice && (
        <p>
          {t('toDo')}: <b data-name>{advice}</b>
        </p>
      )}
    </>
  );
}

function Words({ label, text }: { label: string; text: string }) {
  return (
    <p>
      {label}: <Said text={text} />
    </p>
  );
}

function Head({ node }: { node: NodeRow }) {
  const { t } = useTranslation('node');
  const { labels } = node;
  const named = (text: string | undefined) => (text ? <span data-name>{text}</span> : null);
  return (
    <Facts
      facts={[
        [t('zone'), named(labels?.zone)],
        [t('leaf'), named(labels?.leaf)],
        [t('pool'), named(labels?.pool)],
        [t('gpus'), labels && <Gpus count={labels.gpu_count} simulated={labels.simulated_gpus} />],
        [t('gpuType'), named(labels?.gpu_type)],
        [t('nvlink'), labels && t(`nvlinks.${labels.nvlink}`, { defaultValue: labels.nvlink })],
        [t('nic'), named(labels?.nic)],
        [t('address'), named(node.address)],
        [t('agent'), named(node.agent_version)],
        [t('runtime'), named(node.runtime)],
        [
          t('census'),
          node.census ? (
            <Explained words={t('censusWords')} command={`glim -o json nodes --name ${node.name}`}>
              <span data-name>{node.census}</span>
            </Explained>
          ) : null,
        ],
        [t('onlyUid'), node.only_uid === null ? null : String(node.only_uid)],
        [t('folders'), named(node.allowed_folders.join(' '))],
        [t('sockets'), named(node.exposed_sockets.join(' '))],
        [t('nextLabels'), named(nextOf(node))],
      ]}
    />
  );
}

// Labels that hold from its release on: those that are other ones.
function nextOf({ labels, next_labels }: NodeRow): string {
  if (!next_labels) return '';
  const now = (labels ?? {}) as Record<string, unknown>;
  const changed = Object.entries(next_labels).filter(([name, value]) => now[name] !== value);
  return changed.map(([name, value]) => `${name}: ${String(value)}`).join(', ');
}

function Jobs({ node }: { node: NodeRow }) {
  const { t } = useTranslation('node');
  const none = !node.holder && !node.claim && node.orphans.length === 0;
  return (
    <section aria-label={t('jobs')} data-part="jobs">
      <h2>{t('jobs')}</h2>
      {none && <p className="weak">{t('noJobs')}</p>}
      <ul className={styles.jobs}>
        {node.holder && <JobRow what={t('has')} ref_={node.holder} />}
        {node.claim && <JobRow what={t('gets')} ref_={node.claim} />}
        {node.orphans.map((orphan) => (
          <JobRow key={`${orphan.job_id}.${orphan.number}`} what={t('orphan')} ref_={orphan} />
        ))}
      </ul>
    </section>
  );
}

function JobRow({ what, ref_ }: { what: string; ref_: Ref }) {
  const { t } = useTranslation('node');
  const { row } = useQueueRow(ref_.job_id);
  return (
    <li>
      <span className={styles.what}>{what}</span>
      <span>
        <JobLink id={ref_.job_id} /> <span data-name>{row?.name}</span>{' '}
        <span className="weak">{t('attempt', { number: ref_.number })}</span>
      </span>
      {row && (
        <>
          <Badge kind="jobStates" state={row.state} />
          <span>
            <span data-name>{row.user}</span>, {t(`common:classes.${row.priority}`)}
          </span>
        </>
      )}
    </li>
  );
}
