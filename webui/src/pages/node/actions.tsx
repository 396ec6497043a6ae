// What operators can do with a node: each says first what it would do.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useHasRole } from '../../api/session';
import { doAsShown, TRY, type Step } from '../../api/step';
import type { NodeRow } from '../../live/types';
import { JobLink } from '../../shell/links';
import { ActionDialog } from '../../ui/ActionDialog';
import { Duration, GpuHours } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { formatDuration } from '../../ui/format';
import styles from './Node.module.css';
import { cordonNode, drainNode, returnNode, uncordonNode, validateNode, type Victim } from './queries';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LENGTHS = [0, HOUR, 2 * HOUR, 8 * HOUR, 24 * HOUR, 72 * HOUR, 168 * HOUR];
const DEADLINES = [0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR];
const PREVIEW = 'a look at what it would do'; // a reason is asked for, and a dry run keeps none

export type Act = 'cordon' | 'drain' | 'uncordon' | 'validate' | 'return';

// What makes sense of a node in this state; the scheduler decides.
export function actsOf(node: Pick<NodeRow, 'state' | 'cordon'>): Act[] {
  const acts: Act[] = [];
  if (node.state === 'quarantined' || node.state === 'lost') acts.push('return');
  if (!node.cordon) acts.push('cordon');
  if (!node.cordon?.drain) acts.push('drain');
  if (node.cordon) acts.push('uncordon');
  acts.push('validate');
  return acts;
}

export function NodeActions({ node }: { node: NodeRow }) {
  const { t } = useTranslation('node');
  const [act, setAct] = useState<Act | null>(null);
  if (!useHasRole('operator')) return null;
  const close = () => setAct(null);
  return (
    <>
      {actsOf(node).map((one) => (
        <Button key={one} kind={one === 'drain' ? 'danger' : 'plain'} onClick={() => setAct(one)}>
          {t(`acts.${one}`)}
        </Button>
      ))}
      {(act === 'cordon' || act === 'drain') && <TakeOut node={node} act={act} onClose={close} />}
      {act === 'uncordon' && <Uncordon node={node} onClose={close} />}
      {act === 'validate' && <Validate node={node} onClose={close} />}
      {act === 'return' && <Return node={node} onClose={close} />}
    </>
  );
}

function TakeOut({ node, act, onClose }: { node: NodeRow; act: 'cordon' | 'drain'; onClose: () => void }) {
  const { t } = useTranslation('node');
  const [forMs, setFor] = useState(0);
  const [deadlineMs, setDeadline] = useState(0);
  const run = (reason: string, step: Step) =>
    act === 'cordon'
      ? cordonNode(node.name, { reason, for_ms: forMs }, step)
      : drainNode(node.name, { reason, for_ms: forMs, deadline_ms: deadlineMs }, step);
  return (
    <ActionDialog
      title={t(`acts.${act}Title`, { name: node.name })}
      verb={t(`acts.${act}`)}
      preview={() => run(PREVIEW, TRY)}
      previewKey={[act, node.name, forMs, deadlineMs]}
      show={({ jobs }) => (
        <>
          <p>{t(`acts.${act}Does`)}</p>
          <Victims jobs={jobs} stay={act === 'cordon'} />
        </>
      )}
      act={(reason, shown) => run(reason, doAsShown(shown))}
      reason="required"
      command={commandOf(node.name, act, forMs, deadlineMs)}
      danger={act === 'drain'}
      onClose={onClose}
    >
      <div className={styles.choices}>
        <Length label={t('acts.for')} lengths={LENGTHS} none={t('acts.forever')} value={forMs} set={setFor} />
        {act === 'drain' && (
          <Length
            label={t('acts.deadline')}
            lengths={DEADLINES}
            none={t('acts.ownGrace')}
            value={deadlineMs}
            set={setDeadline}
          />
        )}
      </div>
    </ActionDialog>
  );
}

function commandOf(name: string, act: Act, forMs: number, deadlineMs: number): string {
  const length = forMs > 0 ? ` --for ${forMs / HOUR}h` : '';
  const deadline = act === 'drain' && deadlineMs > 0 ? ` --deadline ${deadlineMs / MINUTE}m` : '';
  return `glim admin node ${act} ${name} --reason …${length}${deadline}`;
}

interface LengthProps {
  label: string;
  lengths: number[];
  none: string;
  value: number;
  set: (ms: number) => void;
}
function Length({ label, lengths, none, value, set }: LengthProps) {
  const { language } = useTranslation().i18n;
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => set(Number(event.target.value))}>
        {lengths.map((one) => (
          <option key={one} value={one}>
            {one === 0 ? none : formatDuration(one, language)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Victims({ jobs, stay }: { jobs: Victim[]; stay: boolean }) {
  const { t } = useTranslation('node');
  if (jobs.length === 0) return <p>{t('acts.nobody')}</p>;
  return (
    <>
      <p>{t(stay ? 'acts.stay' : 'acts.leave')}</p>
      <ul>
        {jobs.map((job) => (
          <li key={String(job.job_id)}>
            <JobLink id={job.job_id} /> <span data-name>{job.name}</span> (<span data-name>{job.user}</span>,{' '}
            {t(`common:classes.${job.priority}`)})
            {!stay && (
              <>
                : {t('acts.cost')} <GpuHours gpuMs={job.preemption_cost_gpu_ms} />, {t('acts.sinceSave')}{' '}
                <Duration ms={job.since_save_ms} />
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function Uncordon({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const { t } = useTranslation('node');
  return (
    <ActionDialog
      title={t('acts.uncordonTitle', { name: node.name })}
      verb={t('acts.uncordon')}
      preview={() => uncordonNode(node.name, TRY)}
      previewKey={['uncordon', node.name]}
      show={() => <p>{t('acts.uncordonDoes')}</p>}
      act={(_, shown) => uncordonNode(node.name, doAsShown(shown))}
      reason="none"
      command={`glim admin node uncordon ${node.name}`}
      onClose={onClose}
    />
  );
}

function Validate({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const { t } = useTranslation('node');
  return (
    <ActionDialog
      title={t('acts.validateTitle', { name: node.name })}
      verb={t('acts.validate')}
      preview={() => validateNode(node.name, true)}
      previewKey={['validate', node.name]}
      show={({ jobs }) => (
        <>
          <p>{t('acts.validateDoes')}</p>
          <Victims jobs={jobs} stay />
        </>
      )}
      act={() => validateNode(node.name, false)}
      reason="none"
      command={`glim admin node validate ${node.name}`}
      onClose={onClose}
    />
  );
}

// The API has no dry run of this.
function Return({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const { t } = useTranslation('node');
  return (
    <ActionDialog
      title={t('acts.returnTitle', { name: node.name })}
      verb={t('acts.return')}
      preview={() => Promise.resolve(node.state)}
      previewKey={['return', node.name, node.state]}
      show={() => <p>{t('acts.returnDoes')}</p>}
      act={() => returnNode(node.name)}
      reason="none"
      command={`glim admin node return ${node.name}`}
      onClose={onClose}
    />
  );
}
