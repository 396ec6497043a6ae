import { useEffect, type ReactNode } from 'react';
import styles from './Page.module.css';

interface Props {
  title: string;
  heading?: ReactNode; // instead of the title
  actions?: ReactNode;
  children: ReactNode;
}

// The head of each page: its title is also the window's.
export function Page({ title, heading, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Glim`;
  }, [title]);
  return (
    <>
      <div className={styles.head}>
        <h1 tabIndex={-1} id="title">
          {heading ?? title}
        </h1>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </>
  );
}
