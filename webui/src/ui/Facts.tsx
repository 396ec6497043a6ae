import type { ReactNode } from 'react';
import styles from './Facts.module.css';

// Names and values beside each other, in as many columns as fit. What is null is left out.
export function Facts({ facts }: { facts: [name: string, value: ReactNode | null][] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
