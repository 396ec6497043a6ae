// What can be done with a job: each says first what it would do.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Int } from '../../api/int';
import { useHasRole, useSession } from '../../api/session';
import type { JobDetail } from '../../live/types';
import { ActionDialog } from '../../ui/ActionDialog';
import { Count, Duration, GpuHours, Said } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { cancelJob, moveJob, resumeJob, setPriority, suspendJob, weighJob } from './queries';

export const CLASSES = [
  'low',
  'below_normal',
  'under_normal',
  'normal',
  'above_normal',
  'high',
  'very_high',
  'extreme_high',
  'auto',
] as const;
export const OVER = ['succeeded', 'failed', 'cancelled'];
const HAS_NODES = ['starting', 'running', 'interrupting', 'suspending'];

// Whether the reader may change it, as far as the page can know: the scheduler decides.
export function useMayChange(job: { user: string; team: string }): boolean {
  const session = useSession();
  const operates = useHasRole('operator');
  return operates || (session.role !== 'viewer' && (session.user === job.user || session.admin_of.includes(job.team)));
}

const ASKS = 'what it would do'; // a dry run wants a reason as well, and keeps none

type Act = 'cancel' | 'suspend' | 'resume' | 'priority' | 'move';

export function JobActions({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const [act, setAct] = useState<Act | null>(null);
  const mayChange = useMayChange(job);
  const operates = useHasRole('operator');
  if (!mayChange || OVER.includes(job.state)) return null;
  const hasNodes = HAS_NODES.includes(job.state);
  const acts: Act[] = [
    'priority',
    ...(job.state === 'held' ? (['resume'] as const) : (['suspend'] as const)),
    ...(operates && hasNodes ? (['move'] as const) : []),
    'cancel',
  ];
  const close = () => setAct(null);
  return (
    <>
      {acts.map((one) => (
        <Button key={one} kind={one === 'cancel' ? 'danger' : 'plain'} onClick={() => setAct(one)}>
          {t(`acts.${one}`)}
        </Button>
      ))}
      {act === 'priority' && <PriorityAction id={job.id} first={job.priority} onClose={close} />}
      {act === 'move' && <MoveAction id={job.id} onClose={close} />}
      {(act === 'cancel' || act === 'suspend' || act === 'resume') && (
        <PlainAction job={job} act={act} onClose={close} />
      )}
    </>
  );
}

// The API has no dry run of these: what they come to follows from the job's state, and from what it has not saved.
function PlainAction({
  job,
  act,
  onClose,
}: {
  job: JobDetail;
  act: 'cancel' | 'suspend' | 'resume';
  onClose: () => void;
}) {
  const { t } = useTranslation('job');
  const run = { cancel: cancelJob, suspend: suspendJob, resume: (id: Int) => resumeJob(id) }[act];
  const has = HAS_NODES.includes(job.state) ? 'Running' : 'Waiting';
  return (
    <ActionDialog
      title={t(`acts.${act}Title`, { id: String(job.id), name: job.spec?.name ?? '' })}
      verb={t(`acts.${act}`)}
      preview={() => (act !== 'resume' && has === 'Running' ? weighJob(job.id) : Promise.resolve(null))}
      previewKey={[act, String(job.id), job.state]}
      show={(risk) => (
        <>
          <p>{t(act === 'resume' ? 'acts.resumeDoes' : `acts.${act}${has}`)}</p>
          {act !== 'resume' && has === 'Running' && job.asked_by && (
            <p>
              <Said text={job.asked_by} />
            </p>
          )}
          {risk && (
            <p data-part="risk">
              {t('acts.risk')} <Count value={risk.steps_since_save} /> {t('acts.riskSteps')},{' '}
              <GpuHours gpuMs={risk.gpu_ms} /> ({t('acts.sinceSave')} <Duration ms={risk.since_save_ms} />)
            </p>
          )}
          {act === 'suspend' && job.saves && (
            <p>
              <Said text={job.saves} />
            </p>
          )}
        </>
      )}
      act={(reason) => run(job.id, reason)}
      reason={act === 'resume' ? 'none' : 'optional'}
      command={`glim ${act} ${job.id}`}
      danger={act === 'cancel'}
      onClose={onClose}
    />
  );
}

export function PriorityAction({ id, first, onClose }: { id: Int; first: string; onClose: () => void }) {
  const { t } = useTranslation('job');
  const [chosen, setChosen] = useState(first);
  return (
    <ActionDialog
      title={t('acts.priorityTitle', { id: String(id) })}
      verb={t('acts.priority')}
      preview={() => setPriority(id, chosen, '', true)}
      previewKey={['priority', String(id), chosen]}
      changes={({ before, after }) => before !== after}
      show={({ before, after }) => (
        <p>
          {t(before === after ? 'acts.prioritySame' : 'acts.priorityDoes', {
            before: t(`common:classes.${before}`),
            after: t(`common:classes.${after}`),
          })}
        </p>
      )}
      act={(reason) => setPriority(id, chosen, reason, false)}
      command={`glim admin job priority ${id} ${chosen} --reason …`}
      onClose={onClose}
    >
      <label>
        {t('acts.newClass')}{' '}
        <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
          {CLASSES.map((one) => (
            <option key={one} value={one}>
              {t(`common:classes.${one}`)}
            </option>
          ))}
        </select>
      </label>
    </ActionDialog>
  );
}

function MoveAction({ id, onClose }: { id: Int; onClose: () => void }) {
  const { t } = useTranslation('job');
  return (
    <ActionDialog
      title={t('acts.moveTitle', { id: String(id) })}
      verb={t('acts.move')}
      preview={() => moveJob(id, ASKS, true)}
      previewKey={['move', String(id)]}
      show={({ cost }) => (
        <>
          <p>{t('acts.moveDoes')}</p>
          {cost && (
            <p>
              {t('acts.cost')} <GpuHours gpuMs={cost.preemption_cost_gpu_ms} />; {t('acts.sinceSave')}{' '}
              <Duration ms={cost.since_save_ms} />
            </p>
          )}
        </>
      )}
      act={(reason) => moveJob(id, reason, false)}
      reason="required"
      command={`glim admin job move ${id} --reason …`}
      onClose={onClose}
    />
  );
}
