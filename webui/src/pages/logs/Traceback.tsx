// The first Python traceback of the newest attempt: looked for by itself where the attempt has failed.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { Button } from '../../ui/Button';
import { ErrorNote } from '../../ui/ErrorNote';
import { textOf } from './ansi';
import type { Target } from './attempts';
import styles from './Logs.module.css';
import { useFirstTraceback } from './queries';

const FAILURES = [
  'failed',
  'start_failed',
  'restore_failed',
  'hang',
  'node_failure',
  'gpu_failure',
  'network',
  'out_of_memory',
];

export function Traceback({ job, show }: { job: JobDetail; show: (at: Target) => void }) {
  const { t } = useTranslation('logs');
  const [wanted, setWanted] = useState(false);
  const last = job.attempts.filter((one) => one.started_at_ms > 0).at(-1);
  const number = last?.ref?.number ?? 0;
  const looks = wanted || FAILURES.includes(last?.outcome ?? '');
  const found = useFirstTraceback(job.id, number, last?.failed_rank ?? -1, looks);
  if (!looks) return <Button onClick={() => setWanted(true)}>{t('findTraceback')}</Button>;
  if (found.isError) return <ErrorNote error={found.error} again={() => void found.refetch()} />;
  if (found.isPending) return <span className="weak">{t('common:loading')}</span>;
  const at = found.data;
  if (!at) return <span className="weak">{t('noTraceback', { attempt: number })}</span>;
  return (
    <span className={styles.traceback} role="status">
      <span>
        <strong>{t('firstTraceback')}</strong> {t('inRank', { rank: at.rank })}
      </span>
      <code lang="en">{textOf(at.error)}</code>
      <Button onClick={() => show({ rank: at.rank, attempt: at.attempt, offset: at.offset })}>{t('show')}</Button>
    </span>
  );
}
