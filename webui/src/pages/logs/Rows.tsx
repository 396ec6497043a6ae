// One row of a log: a line as a terminal would show it, or a mark between two attempts.
import { Fragment, memo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { jobPath } from '../../shell/links';
import { Count, Said, Time } from '../../ui/amounts';
import { classes } from '../../ui/classes';
import { formatMoment } from '../../ui/format';
import { spansOf, stampOf, type Span } from './ansi';
import { splitBy, type Line } from './lines';
import type { Mark } from './types';
import styles from './Rows.module.css';

type Attempt = Schemas['Attempt'];

const STAMP_AMONG = 3; // a level may stand before it, in a colour of its own

interface LineProps {
  line: Line;
  word: string;
  ignoreCase: boolean;
}

export const LineRow = memo(function LineRow({ line, word, ignoreCase }: LineProps) {
  const { t, i18n } = useTranslation('logs');
  const spans = spansOf(line.text);
  const stamped = spans.slice(0, STAMP_AMONG).findIndex((span) => stampOf(span.text) !== null);
  return (
    <span lang="en" className={styles.line}>
      {spans.map((span, at) => {
        const stamp = at === stamped ? stampOf(span.text) : null;
        if (!stamp) return <Text key={at} span={span} word={word} any={ignoreCase} />;
        const when = stamp.atMs ? formatMoment(stamp.atMs, i18n.language) : undefined;
        return (
          <Fragment key={at}>
            <span className={styles.stamp} title={when}>
              {span.text.slice(0, stamp.length)}
            </span>
            <Text span={{ ...span, text: span.text.slice(stamp.length) }} word={word} any={ignoreCase} />
          </Fragment>
        );
      })}
      {line.cut && (
        <span className="weak" title={t('cut')}>
          {' …'}
        </span>
      )}
    </span>
  );
});

function Text({ span, word, any }: { span: Span; word: string; any: boolean }) {
  const look = span.look && span.look.split(' ').map((name) => styles[name]);
  const parts = splitBy(span.text, word, any).map((part, at) => (at % 2 === 1 ? <mark key={at}>{part}</mark> : part));
  return look ? <span className={classes(...look)}>{parts}</span> : <>{parts}</>;
}

export function MarkRow({ mark, attempt }: { mark: Mark; attempt: Attempt | undefined }) {
  return (
    <span className={styles.mark}>
      <span aria-hidden="true">▎</span>
      {mark.what === 'ended' ? <Ended mark={mark} attempt={attempt} /> : <Began mark={mark} attempt={attempt} />}
    </span>
  );
}

const NODES_MAX = 4;

function Began({ mark, attempt }: { mark: Mark; attempt: Attempt | undefined }) {
  const { t, i18n } = useTranslation('logs');
  const number = { attempt: mark.attempt };
  const nodes = attempt?.tasks.map((task) => task.node) ?? [];
  const shown = new Intl.ListFormat(i18n.language, { type: 'unit' }).format(nodes.slice(0, NODES_MAX));
  const base = attempt?.base_step ?? -1;
  if (mark.what !== 'began') return <strong>{t(`mark.${mark.what}`, number)}</strong>;
  return (
    <>
      <strong>
        {base >= 0 ? <>{t('mark.resumed', { ...number, step: String(base) })}</> : t('mark.began', number)}
      </strong>{' '}
      {attempt && <Time atMs={attempt.running_at_ms || attempt.started_at_ms} />}{' '}
      {nodes.length > 0 && (
        <span data-name>{t('mark.on', { nodes: shown + (nodes.length > NODES_MAX ? ' …' : '') })}</span>
      )}
    </>
  );
}

function Ended({ mark, attempt }: { mark: Mark; attempt: Attempt | undefined }) {
  const { t } = useTranslation('logs');
  const interrupt = attempt?.outcome === 'interrupted' ? attempt.agreements.at(-1) : undefined;
  const id = attempt?.ref?.job_id;
  const where = id !== undefined && `${jobPath(id)}?attempt=${mark.attempt}`;
  return (
    <>
      <strong>{t(interrupt ? 'mark.interrupted' : 'mark.ended', { attempt: mark.attempt })}</strong>{' '}
      {attempt && <Time atMs={attempt.ended_at_ms} />}
      {attempt?.outcome && !interrupt && <>, {t(`common:outcomes.${attempt.outcome}`)}</>}
      {attempt?.save && <>, {t(`common:saveResults.${attempt.save}`)}</>}
      {attempt && attempt.last_step >= 0 && (
        <>
          {' · '}
          <Count value={attempt.last_step} />
        </>
      )}
      {interrupt && (
        <>
          {': '}
          <Said text={interrupt.reason} />
        </>
      )}
      {!interrupt && attempt?.message && (
        <>
          {': '}
          <Said text={attempt.message} />
        </>
      )}{' '}
      {where && <Link href={where}>{t('show')}</Link>}
    </>
  );
}
