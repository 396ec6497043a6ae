import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ask } from '../api/client';
import styles from './ClusterName.module.css';

const RARELY = 5 * 60_000;

// Which cluster this is, and that its GPUs are simulated where they are.
export function ClusterName() {
  const { t } = useTranslation('common');
  const version = useQuery({
    queryKey: ['version'],
    queryFn: () => ask(api.GET('/v1/version')),
    staleTime: RARELY,
  });
  const status = useQuery({
    queryKey: ['status'],
    queryFn: () => ask(api.GET('/v1/status')),
    staleTime: RARELY,
  });
  const id = version.data?.cluster_id ?? '';
  // An id that nobody chose says less than where the page comes from.
  const name = /^[0-9a-f]{32}$/.test(id) ? window.location.hostname : id;
  return (
    <>
      <span
        className={styles.name}
        data-name
        title={t('clusterTitle', { name: id, version: version.data?.scheduler_version ?? '' })}
      >
        {name}
      </span>
      {status.data?.simulated_gpus && (
        <span className={styles.simulated} title={t('simulated')}>
          {t('simulatedShort')}
        </span>
      )}
    </>
  );
}
