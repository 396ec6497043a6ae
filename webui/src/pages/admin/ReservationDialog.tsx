// Makes a reservation or changes one: what was, what will be, and who would have to leave.
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { doAsShown, TRY, type Step } from '../../api/step';
import { JobLink } from '../../shell/links';
import { ActionDialog } from '../../ui/ActionDialog';
import { Duration, GpuHours } from '../../ui/amounts';
import { formatMoment } from '../../ui/format';
import { useSettled } from '../submit/queries';
import { useAccounts, useLayout } from '../usage/queries';
import styles from './Admin.module.css';
import { setReservation } from './queries';
import { commandOf, draftOf, freshDraft, isSame, isWhole, type Draft, type Reservation } from './reservation';

export function ReservationDialog({ before, onClose }: { before: Reservation | null; onClose: () => void }) {
  const { t } = useTranslation('admin');
  const pools = (useLayout().data?.pools ?? []).map(({ name }) => name);
  const [typed, setDraft] = useState(() => (before ? draftOf(before) : freshDraft('', Date.now())));
  const draft = { ...typed, pool: typed.pool || (pools[0] ?? '') };
  const settled = useSettled(JSON.stringify(draft));
  const ask = (step: Step) => setReservation(draft, before, step);
  const title = before ? t('changeOf', { name: before.name }) : t('add.reservation');
  return (
    <ActionDialog
      title={title}
      verb={before ? t('change') : t('add.reservation')}
      preview={() => (isWhole(draft) ? ask(TRY) : Promise.resolve(null))}
      previewKey={['reservation', settled]}
      changes={(told) => told !== null && settled === JSON.stringify(draft) && !isSame(told.before, told.after)}
      show={(told) => (told ? <Told told={told} /> : <p>{t('reservation.first')}</p>)}
      act={(_, shown) => ask(doAsShown(shown))}
      reason="none"
      command={commandOf(draft)}
      onClose={onClose}
    >
      <Fields draft={draft} pools={pools} isNew={!before} set={(change) => setDraft({ ...typed, ...change })} />
    </ActionDialog>
  );
}

interface FieldsProps {
  draft: Draft;
  pools: string[];
  isNew: boolean;
  set: (change: Partial<Draft>) => void;
}

function Fields({ draft, pools, isNew, set }: FieldsProps) {
  const { t } = useTranslation('admin');
  const teams = (useAccounts().data?.teams ?? []).map(({ name }) => name);
  const input = (name: keyof Draft, label: string, more: React.InputHTMLAttributes<HTMLInputElement> = {}) => (
    <label>
      {label}
      <input
        value={draft[name]}
        autoComplete="off"
        onChange={(event) => set({ [name]: event.target.value } as Partial<Draft>)}
        {...more}
      />
    </label>
  );
  const select = (name: 'team' | 'of' | 'pool', label: string, options: [value: string, word: ReactNode][]) => (
    <label>
      {label}
      <select value={draft[name]} onChange={(event) => set({ [name]: event.target.value } as Partial<Draft>)}>
        {options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
  const same = (names: string[]) => names.map((name): [string, string] => [name, name]);
  return (
    <div className={styles.fields}>
      {input('name', t('fields.name'), { readOnly: !isNew })}
      {select('team', t('reservation.whose'), [['', t('reservation.nobody')], ...same(teams)])}
      {select('of', t('reservation.what'), [
        ['share', t('reservation.share')],
        ['nodes', t('reservation.nodes')],
      ])}
      {draft.of === 'share' && select('pool', t('fields.pool'), same(pools))}
      {draft.of === 'share' && input('share', t('fields.nodes'), { inputMode: 'numeric' })}
      {draft.of === 'nodes' && input('nodes', t('reservation.names'), { placeholder: 'n1, n2' })}
      {input('begins', t('reservation.begins'), { type: 'datetime-local' })}
      {input('ends', t('fields.ends_at_ms'), { type: 'datetime-local' })}
      {input('reason', t('fields.reason'))}
    </div>
  );
}

export function Told({ told }: { told: Omit<Schemas['SetReservationResponse'], 'version' | 'state'> }) {
  const { t } = useTranslation('admin');
  if (isSame(told.before, told.after)) return <p>{t('noDiff')}</p>;
  return (
    <>
      <dl className={styles.diff} data-part="diff">
        <dt data-name>{(told.after ?? told.before)?.name}</dt>
        <dd className={styles.before}>
          <span className="weak">{t('before')}</span> {told.before ? <Words row={told.before} /> : t('isNew')}
        </dd>
        <dd className={styles.after}>
          <span className="weak">{t('after')}</span> {told.after ? <Words row={told.after} /> : t('isGone')}
        </dd>
      </dl>
      {told.after && <Leave jobs={told.jobs} />}
    </>
  );
}

function Words({ row }: { row: Reservation }) {
  const { t, i18n } = useTranslation('admin');
  const moment = (ms: number) => formatMoment(ms, i18n.language);
  return (
    <>
      {row.node_names.length > 0 ? (
        <span data-name>{row.node_names.join(', ')}</span>
      ) : (
        <>
          {t('reservation.shareOf', { count: row.share })} <span data-name>{row.pool}</span>
        </>
      )}
      {', '}
      {row.team ? t('reservation.forTeam', { team: row.team }) : t('reservation.forNobody')},{' '}
      {t('reservation.fromUntil', { from: moment(row.begins_at_ms), until: moment(row.ends_at_ms) })}:{' '}
      <span data-name>{row.reason}</span>
    </>
  );
}

function Leave({ jobs }: { jobs: Schemas['Victim'][] }) {
  const { t } = useTranslation('admin');
  if (jobs.length === 0) return <p data-part="leave">{t('reservation.nobodyThere')}</p>;
  return (
    <div data-part="leave">
      <p>{t('reservation.leave')}</p>
      <ul>
        {jobs.map((job) => (
          <li key={String(job.job_id)}>
            <JobLink id={job.job_id} />{' '}
            <span data-name>
              {job.name} ({job.user})
            </span>
            : {t('reservation.cost')} <GpuHours gpuMs={job.preemption_cost_gpu_ms} />, {t('reservation.sinceSave')}{' '}
            <Duration ms={job.since_save_ms} />
          </li>
        ))}
      </ul>
    </div>
  );
}
