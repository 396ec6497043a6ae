import { useTranslation } from 'react-i18next';
import { asApiError } from '../api/error';
import { Said } from './amounts';
import { Button } from './Button';
import styles from './ErrorNote.module.css';
import { NoPermission } from './states-of-pages';

// One look for whatever a request came to: what is wrong, with which field, and how to mend it.
export function ErrorNote({ error: thrown, again }: { error: unknown; again?: () => void }) {
  const { t } = useTranslation('common');
  const error = asApiError(thrown);
  if (error.isForbidden) return <NoPermission error={error} />;
  return (
    <div role="alert" className={styles.note}>
      <strong>
        {error.status === 0 ? t('errors.noAnswer') : error.isMissing ? t('errors.missing') : t('errors.failed')}
      </strong>{' '}
      <Said text={error.message} />
      {error.field && (
        <div>
          {t('errors.field')}: <code>{error.field}</code>
        </div>
      )}
      {error.fix && (
        <div>
          {t('errors.fix')}: <Said text={error.fix} />
        </div>
      )}
      {error.reason && <code className="weak">{error.reason}</code>}
      {again && (
        <div>
          <Button onClick={again}>{t('tryAgain')}</Button>
        </div>
      )}
    </div>
  );
}
