// Attempts as bars over time: one row each, a mark where an interrupt was asked for. A row leads to its receipt.
import { useRef, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { classes } from '../../ui/classes';
import { formatClock, formatDuration } from '../../ui/format';
import { useNow } from '../../ui/useNow';
import {
  lastInterrupt,
  numberOf,
  PHASES,
  segmentsOf,
  ticksOf,
  waitsSince,
  type Attempt,
  type Segment,
} from './segments';
import styles from './Timeline.module.css';

const EVERY_MS = 2_000; // bars that go on grow so often
const LEAST_MS = 1_000;

interface Props {
  job: JobDetail;
  chosen: number;
  choose: (attempt: number) => void;
}

interface Scale {
  fromMs: number;
  toMs: number;
  nowMs: number;
}

export function Timeline({ job, chosen, choose }: Props) {
  const { t } = useTranslation('job');
  const nowMs = useNow((now) => (job.ended_at_ms ? job.ended_at_ms : now - (now % EVERY_MS)));
  const scale = { fromMs: job.submitted_at_ms, toMs: Math.max(nowMs, job.submitted_at_ms + LEAST_MS), nowMs };
  const rows = useRef<HTMLDivElement>(null);
  const since = waitsSince(job);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = [...(rows.current?.querySelectorAll<HTMLElement>('button') ?? [])];
    const next = all[all.indexOf(document.activeElement as HTMLElement) + (step ?? 0)];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <section aria-label={t('timeline')}>
      <div className={styles.box} ref={rows} onKeyDown={onKeyDown}>
        {job.attempts.map((attempt) => (
          <Row
            key={numberOf(attempt)}
            attempt={attempt}
            scale={scale}
            chosen={numberOf(attempt) === chosen}
            choose={() => choose(numberOf(attempt))}
          />
        ))}
        {since > 0 && (
          <div className={styles.row}>
            <span className={styles.name}>{t(`common:jobStates.${job.state}`)}</span>
            <span className={styles.track}>
              <Bar segment={{ phase: 'queued', fromMs: since, toMs: 0 }} scale={scale} />
            </span>
          </div>
        )}
        <Axis scale={scale} />
      </div>
      <Legend />
    </section>
  );
}

const percent = (ms: number, { fromMs, toMs }: Scale) => `${(100 * (ms - fromMs)) / (toMs - fromMs)}%`;

function Row({
  attempt,
  scale,
  chosen,
  choose,
}: {
  attempt: Attempt;
  scale: Scale;
  chosen: boolean;
  choose: () => void;
}) {
  const { t } = useTranslation('job');
  const number = numberOf(attempt);
  const interrupt = lastInterrupt(attempt);
  const words = attempt.outcome ? t(`common:outcomes.${attempt.outcome}`) : t(`common:attemptStates.${attempt.state}`);
  return (
    <button
      type="button"
      className={classes(styles.row, chosen && styles.chosen)}
      aria-pressed={chosen}
      aria-label={`${t('attempt.name', { number })}: ${words}`}
      data-attempt={number}
      onClick={choose}
    >
      <span className={styles.name}>
        #{number} <span className="weak">{words}</span>
      </span>
      <span className={styles.track}>
        {segmentsOf(attempt).map((segment) => (
          <Bar key={`${segment.phase}${segment.fromMs}`} segment={segment} scale={scale} />
        ))}
        {interrupt && (
          <span className={styles.mark} style={{ left: percent(interrupt.requested_at_ms, scale) }} aria-hidden="true">
            ▼
          </span>
        )}
      </span>
    </button>
  );
}

function Bar({ segment, scale }: { segment: Segment; scale: Scale }) {
  const { t, i18n } = useTranslation('job');
  const { phase, fromMs } = segment;
  const toMs = segment.toMs || scale.nowMs;
  const left = Math.max(fromMs, scale.fromMs);
  const width = (100 * Math.max(0, Math.min(toMs, scale.toMs) - left)) / (scale.toMs - scale.fromMs);
  return (
    <span
      className={classes(styles.bar, styles[phase])}
      data-phase={phase}
      style={{ left: percent(left, scale), width: `${width}%` }}
      title={`${t(`phase.${phase}`)}: ${formatDuration(Math.max(0, toMs - fromMs), i18n.language)}`}
    />
  );
}

function Axis({ scale }: { scale: Scale }) {
  const { language } = useTranslation().i18n;
  const [shown] = useState(() => new Map<number, string>());
  const late = scale.toMs - (scale.toMs - scale.fromMs) / 10; // a text behind it might be cut
  return (
    <div className={classes(styles.row, styles.axis)} aria-hidden="true">
      <span className={styles.name} />
      <span className={styles.track}>
        {ticksOf(scale.fromMs, scale.toMs).map((at) => (
          <span
            key={at}
            className={classes(styles.tick, at > late && styles.late)}
            style={{ left: percent(at, scale) }}
          >
            {tickText(at, scale.toMs - scale.fromMs, language, shown)}
          </span>
        ))}
      </span>
    </div>
  );
}

// Seconds where the whole is minutes, days where it is days.
function tickText(at: number, span: number, language: string, made: Map<number, string>): string {
  if (span > 86_400_000) return formatClock(at, language);
  const known = made.get(at);
  if (known) return known;
  const seconds: Intl.DateTimeFormatOptions = span < 600_000 ? { second: '2-digit' } : {};
  const text = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', ...seconds }).format(at);
  made.set(at, text);
  return text;
}

function Legend() {
  const { t } = useTranslation('job');
  return (
    <p className={styles.legend}>
      {PHASES.map((phase) => (
        <span key={phase} className={styles.entry}>
          <span className={classes(styles.key, styles[phase])} aria-hidden="true" />
          {t(`phase.${phase}`)}
        </span>
      ))}
      <span className={styles.entry}>
        <span className={styles.sign} aria-hidden="true">
          ▼
        </span>
        {t('phase.asked')}
      </span>
    </p>
  );
}
