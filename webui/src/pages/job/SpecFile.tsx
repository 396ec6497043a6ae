// The spec as a file, in a chunk of its own: it is seldom looked at, and YAML is large.
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { Said } from '../../ui/amounts';
import { Command } from '../../ui/Explained';
import { EmptyState } from '../../ui/states-of-pages';
import { yamlOf } from './spec';
import styles from './SpecFile.module.css';

export default function SpecFile({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  if (!job.spec) return <EmptyState title={t('spec.none')} />;
  const facts = [job.asked_by, job.saves, job.protection].filter(Boolean);
  return (
    <>
      <p className="weak">{t('spec.words')}</p>
      <pre className={styles.spec} lang="en" tabIndex={0} aria-label={t('spec.title')}>
        {yamlOf(job.spec)}
      </pre>
      {facts.map((text) => (
        <p key={text}>
          <Said text={text} />
        </p>
      ))}
      <Command text={`glim -o json status ${job.id}`} />
    </>
  );
}
