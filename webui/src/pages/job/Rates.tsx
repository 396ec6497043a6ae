import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { Count } from '../../ui/amounts';
import { Explained } from '../../ui/Explained';
import { Loading } from '../../ui/states-of-pages';
import { useNow } from '../../ui/useNow';
import { ratesOf, seenOf, subscribeSeen, takeJob } from './rates';
import styles from './Job.module.css';

const RateChart = lazy(() => import('./RateChart'));

// The rate across attempts; it grows while the page is open.
export function Rates({ job }: { job: JobDetail }) {
  const { t } = useTranslation('job');
  const seen = useSyncExternalStore(subscribeSeen, () => seenOf(String(job.id)));
  const nowMs = useNow((now) => now);
  useEffect(() => takeJob(job, Date.now()), [job]);
  const points = ratesOf(job, seen, nowMs);
  const last = points.at(-1);
  return (
    <section className={styles.card} aria-label={t('rate.title')}>
      <h2>
        <Explained words={t('rate.words')} command={`glim status ${job.id}`}>
          {t('rate.title')}
        </Explained>
        {last && (
          <span className="weak" data-part="rate">
            {' '}
            <Count value={last.rate} digits={2} /> {t('rate.unit')}
          </span>
        )}
      </h2>
      {last ? (
        <Suspense fallback={<Loading />}>
          <RateChart points={points} label={t('rate.title')} />
        </Suspense>
      ) : (
        <p className="weak">{t('rate.none')}</p>
      )}
    </section>
  );
}
