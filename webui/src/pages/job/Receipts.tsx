// Each interrupt of a job: who, why, what it cost, and what its time was made of, here and for who came in.
import { useEffect, useRef, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { JobLink } from '../../shell/links';
import { Count, Duration, GpuHours, Said, Step, Time } from '../../ui/amounts';
import { classes } from '../../ui/classes';
import { Explained } from '../../ui/Explained';
import { usePreemptorStart } from './queries';
import styles from './Receipts.module.css';
import { interruptsOf, numberOf, stepsLostOf, type Interrupt } from './segments';

const OWN = ['notify', 'agree', 'save', 'leave', 'release'] as const;
const THEIRS = ['queued', 'notify', 'agree', 'save', 'release', 'start'] as const;

export const interruptKey = ({ attempt, agreement }: Interrupt) => `${numberOf(attempt)}.${agreement.id}`;

export function Receipts({ job, chosen }: { job: JobDetail; chosen: string }) {
  const { t } = useTranslation('job');
  const all = interruptsOf(job).toReversed();
  if (all.length === 0) return <p className="weak">{t('receipt.none')}</p>;
  return (
    <ol className={styles.list}>
      {all.map((one) => (
        <Receipt key={interruptKey(one)} job={job} interrupt={one} chosen={interruptKey(one) === chosen} />
      ))}
    </ol>
  );
}

function Receipt({ job, interrupt, chosen }: { job: JobDetail; interrupt: Interrupt; chosen: boolean }) {
  const { t } = useTranslation('job');
  const { attempt, agreement } = interrupt;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) item.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <li
      ref={item}
      className={classes(styles.receipt, chosen && styles.chosen)}
      data-interrupt={interruptKey(interrupt)}
    >
      <p>
        <strong>{t('receipt.of', { attempt: numberOf(attempt), number: agreement.id })}</strong>{' '}
        <Time atMs={agreement.requested_at_ms} /> <By interrupt={interrupt} />
      </p>
      <p className={styles.reason}>
        <Said text={agreement.reason} />
      </p>
      <Cost job={job} interrupt={interrupt} />
      <Phases
        label={t('receipt.own')}
        names={OWN}
        times={{ ...(agreement.times ?? {}) }}
        command={`glim status ${job.id}`}
        kind="own"
      />
      <Theirs interrupt={interrupt} />
    </li>
  );
}

function By({ interrupt: { agreement } }: { interrupt: Interrupt }) {
  const { t } = useTranslation('job');
  const { preemptor, preemptor_name, preemptor_user } = agreement;
  if (!preemptor || preemptor.job_id === 0) return <>{t('receipt.noJob')}</>;
  const name = `${preemptor.job_id} ${preemptor_name}`;
  return (
    <>
      {t('receipt.for')} <JobLink id={preemptor.job_id}>{name}</JobLink> {t('receipt.user', { user: preemptor_user })}
    </>
  );
}

// What it cost this job.
function Cost({ job, interrupt }: { job: JobDetail; interrupt: Interrupt }) {
  const { t } = useTranslation('job');
  const { attempt, agreement, next } = interrupt;
  const command = `glim status ${job.id}`;
  if (agreement.state === 'withdrawn') return <p>{t('receipt.withdrawn')}</p>;
  const goneMs = next?.running_at_ms ? next.running_at_ms - agreement.requested_at_ms : -1;
  return (
    <dl className={styles.cost}>
      <Fact name={t('receipt.lost')} words={t('receipt.lostWords')} command={command} part="lost">
        <Step value={stepsLostOf(attempt)} />
        {attempt.save && <> ({t(`common:saveResults.${attempt.save}`)})</>}
      </Fact>
      <Fact name={t('receipt.grace')} words={t('receipt.graceWords')} command={command} part="grace">
        <Duration ms={agreement.grace_used_ms} /> {t('receipt.ofGrace')} <Duration ms={agreement.grace_ms} />
      </Fact>
      {agreement.stop_step >= 0 && (
        <Fact name={t('receipt.stop')} words={t('receipt.stopWords')} command={command} part="stop">
          <Count value={agreement.stop_step} />
        </Fact>
      )}
      <Fact name={t('receipt.gpus')} words={t('receipt.gpusWords')} command={command} part="gpus">
        <GpuHours gpuMs={agreement.grace_used_ms * Number(job.gpus)} />
      </Fact>
      <Fact name={t('receipt.gone')} words={t('receipt.goneWords')} command={command} part="gone">
        {goneMs >= 0 ? <Duration ms={goneMs} /> : t('receipt.notYet')}
      </Fact>
    </dl>
  );
}

interface FactProps {
  name: string;
  words: string;
  command: string;
  part: string;
  children: ReactNode;
}

function Fact({ name, words, command, part, children }: FactProps) {
  return (
    <div data-part={part}>
      <dt>{name}</dt>
      <dd>
        <Explained words={words} command={command}>
          {children}
        </Explained>
      </dd>
    </div>
  );
}

interface PhasesProps {
  label: string;
  names: readonly string[];
  times: Record<string, number>;
  command: string;
  kind: 'own' | 'theirs';
}

// Phases that follow each other: a bar, and each one's name and length, explained.
function Phases({ label, names, times, command, kind }: PhasesProps) {
  const { t } = useTranslation('job');
  const known = names.map((name) => ({ name, ms: times[`${name}_ms`] ?? -1 })).filter(({ ms }) => ms >= 0);
  if (known.length === 0) return null;
  return (
    <div className={styles.phases} data-part={kind}>
      <span>{label}</span>
      <span className={styles.bar} aria-hidden="true">
        {known.map(({ name, ms }) => (
          <span key={name} className={classes(styles.part, styles[name])} style={{ flexGrow: ms }} />
        ))}
      </span>
      <span className={styles.words}>
        {known.map(({ name, ms }) => (
          <span key={name} className={styles.word} data-phase={name}>
            <span className={classes(styles.key, styles[name])} aria-hidden="true" />
            <Explained words={t(`receipt.phases.${kind}.${name}`)} command={command}>
              {t(`receipt.names.${name}`)} <Duration ms={ms} />
            </Explained>
          </span>
        ))}
      </span>
    </div>
  );
}

function Theirs({ interrupt: { agreement } }: { interrupt: Interrupt }) {
  const { t } = useTranslation('job');
  const ref = agreement.preemptor;
  const start = usePreemptorStart(ref?.job_id ? ref : null);
  if (!ref || !start.data) return null;
  return (
    <Phases
      label={t('receipt.theirs', { id: String(ref.job_id) })}
      names={THEIRS}
      times={{ ...start.data }}
      command={`glim status ${ref.job_id}`}
      kind="theirs"
    />
  );
}
