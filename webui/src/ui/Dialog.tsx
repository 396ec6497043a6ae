import { useEffect, useId, useRef, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './Button';
import styles from './Dialog.module.css';

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode; // its buttons, beside the one that closes
}

// The browser's own modal dialog: it keeps the focus, closes by Escape and gives the focus back.
export function Dialog({ title, onClose, children, footer }: Props) {
  const { t } = useTranslation('common');
  const ref = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={styles.dialog}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={name}>{title}</h2>
      <div className={styles.body}>{children}</div>
      <div className={styles.footer}>
        <Button onClick={onClose}>{t('close')}</Button>
        {footer}
      </div>
    </dialog>
  );
}
