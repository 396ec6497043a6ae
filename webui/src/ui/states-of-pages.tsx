// The designed states of a page or a part of one: nothing there, not there yet, not allowed, simulated.
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../api/error';
import { Said } from './amounts';
import styles from './states-of-pages.module.css';

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.state}>
      <strong>{title}</strong>
      {children && <div className="weak">{children}</div>}
    </div>
  );
}

export function Loading() {
  const { t } = useTranslation('common');
  return (
    <div className={styles.state} role="status">
      <span className={styles.spinner} aria-hidden="true" />
      <span className="weak">{t('loading')}</span>
    </div>
  );
}

export function NoPermission({ error, children }: { error?: ApiError; children?: ReactNode }) {
  const { t } = useTranslation('common');
  return (
    <div className={styles.state} role="alert">
      <strong>{t('noPermission')}</strong>
      {children && <div className="weak">{children}</div>}
      {error && (
        <div className="weak">
          <Said text={error.message} />
          {error.fix && (
            <>
              {' '}
              <Said text={error.fix} />
            </>
          )}
        </div>
      )}
    </div>
  );
}

// Above what counts GPUs that nobody has.
export function SimulatedGpus() {
  const { t } = useTranslation('common');
  return (
    <p className={styles.simulated} role="note">
      {t('simulated')}
    </p>
  );
}
