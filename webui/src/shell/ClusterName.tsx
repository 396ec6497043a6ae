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
  const name = version.data?.cluster_id ?? '';
  return (
    <>
      <span className={styles.name} title={t('clusterTitle', { name, version: version.data?.version ?? '' })}>
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
