// The job's spec as the file that would submit it again: the scheduler writes it.
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { Said } from '../../ui/amounts';
import { Command } from '../../ui/Explained';
import { ErrorNote } from '../../ui/ErrorNote';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { useJobFile } from './queries';
import styles from './SpecFile.module.css';

export function SpecFile({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const file = useJobFile(job.id);
  if (!job.spec) return <EmptyState title={t('spec.none')} />;
  if (file.isPending) return <Loading />;
  if (file.isError) return <ErrorNote error={file.error} again={() => void file.refetch()} />;
  if (!file.data) return <EmptyState title={t('spec.private')} />;
  const facts = [job.asked_by, job.saves, job.protection].filter(Boolean);
  return (
    <>
      <p className="weak">{t('spec.words')}</p>
      <pre className={styles.spec} lang="en" tabIndex={0} aria-label={t('spec.title')}>
        {file.data}
      </pre>
      {facts.map((text) => (
        <p key={text}>
          <Said text={text} />
        </p>
      ))}
      <Command text={`glim -o yaml status ${job.id}`} />
    </>
  );
}
