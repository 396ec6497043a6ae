// An action: first what it would do, then the question, then what came of it.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import styles from './ActionDialog.module.css';
import { Button } from './Button';
import { Dialog } from './Dialog';
import { ErrorNote } from './ErrorNote';
import { Command } from './Explained';
import { Loading } from './states-of-pages';

interface Props<T> {
  title: string; // "Cancel job 12"
  verb: string; // of the button
  // What would be done, of the API's dry run or of what is known; a refusal is shown instead, and nothing can be done.
  preview: () => Promise<T>;
  show: (previewed: T) => ReactNode;
  previewKey: readonly unknown[]; // what the preview depends on
  changes?: (previewed: T) => boolean; // false: nothing would change, and there is nothing to do
  act: (reason: string, previewed: T) => Promise<unknown>;
  reason?: 'none' | 'optional' | 'required';
  command?: string; // that does the same
  danger?: boolean;
  children?: ReactNode; // more to choose, before the preview
  onClose: () => void;
}

export function ActionDialog<T>(props: Props<T>) {
  const {
    title,
    verb,
    preview,
    show,
    previewKey,
    changes,
    act,
    reason = 'optional',
    command,
    danger,
    children,
    onClose,
  } = props;
  const { t } = useTranslation('common');
  const [why, setWhy] = useState('');
  const previewed = useQuery({ queryKey: ['preview', ...previewKey], queryFn: preview, gcTime: 0, staleTime: 0 });
  const done = useMutation({ mutationFn: (told: T) => act(why.trim(), told), onSuccess: onClose });
  const worthIt = previewed.isSuccess && (changes?.(previewed.data) ?? true);
  const ready = worthIt && !previewed.isFetching && (reason !== 'required' || why.trim() !== '');
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <Button
          kind={danger ? 'danger' : 'main'}
          disabled={!ready || done.isPending}
          onClick={() => previewed.isSuccess && done.mutate(previewed.data)}
        >
          {verb}
        </Button>
      }
    >
      {children}
      <section className={styles.preview} aria-label={t('wouldDo')}>
        <h3>{t('wouldDo')}</h3>
        {previewed.isPending && <Loading />}
        {previewed.isError && <ErrorNote error={previewed.error} />}
        {previewed.isSuccess && show(previewed.data)}
      </section>
      {reason !== 'none' && (
        <label className={styles.reason}>
          {t(reason === 'required' ? 'reasonRequired' : 'reason')}
          <input value={why} onChange={(event) => setWhy(event.target.value)} required={reason === 'required'} />
        </label>
      )}
      {command && <Command text={command} />}
      {done.isError && <ErrorNote error={done.error} />}
    </Dialog>
  );
}
