import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionDialog } from '../../ui/ActionDialog';
import { Said } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { Loading } from '../../ui/states-of-pages';
import { usePolicy } from '../scheduler/queries';
import styles from './Admin.module.css';
import { reloadPolicy } from './queries';

// The policy in force; its file is changed on the scheduler's host, and read again from here.
export function Policy() {
  const { t } = useTranslation('admin');
  const asked = usePolicy();
  const [reloading, setReloading] = useState(false);
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  const { source, yaml } = asked.data;
  return (
    <>
      <div className={styles.head}>
        <p className="weak">
          {source ? t('policy.from') : t('policy.defaults')} {source && <code>{source}</code>}
        </p>
        <Button onClick={() => setReloading(true)}>{t('policy.reload')}</Button>
      </div>
      <pre className={styles.policy} lang="en" tabIndex={0} aria-label={t('tabs.policy')}>
        {yaml}
      </pre>
      <Command text="glim admin config show" />
      {reloading && (
        <ActionDialog
          title={t('policy.reload')}
          verb={t('policy.reload')}
          preview={() => reloadPolicy(true)}
          previewKey={['policy']}
          changes={({ changes }) => changes.length > 0}
          show={({ changes, warnings }) => (
            <>
              {changes.length === 0 && <p>{t('policy.same')}</p>}
              {changes.map(({ field, before, after }) => (
                <dl key={field} className={styles.diff}>
                  <dt>
                    <code>{field}</code>
                  </dt>
                  <dd className={styles.before}>
                    <Said text={before || '–'} />
                  </dd>
                  <dd className={styles.after}>
                    <Said text={after || '–'} />
                  </dd>
                </dl>
              ))}
              {warnings.map((one) => (
                <p key={one}>
                  <Said text={one} />
                </p>
              ))}
            </>
          )}
          act={() => reloadPolicy(false).then(() => asked.refetch())}
          reason="none"
          command="glim admin config reload"
          onClose={() => setReloading(false)}
        />
      )}
    </>
  );
}
