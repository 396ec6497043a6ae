import { useTranslation } from 'react-i18next';
import styles from './Badge.module.css';
import { LOOKS, lookOf, type Shape, type StateKind } from './states';

const PATHS: Record<Shape, string> = {
  disc: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z',
  ring: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z',
  half: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 1.6v6.8a3.4 3.4 0 0 1 0-6.8z',
  triangle: 'M6 1 11.5 11H.5z',
  square: 'M1.5 1.5h9v9h-9z',
  diamond: 'M6 .5 11.5 6 6 11.5.5 6z',
  cross: 'M2.6 1 6 4.4 9.4 1 11 2.6 7.6 6 11 9.4 9.4 11 6 7.6 2.6 11 1 9.4 4.4 6 1 2.6z',
  pause: 'M2 1.5h3v9H2zM7 1.5h3v9H7z',
};

export function StateShape({ shape, colour }: { shape: Shape; colour: string }) {
  return (
    <svg className={styles.shape} viewBox="0 0 12 12" aria-hidden="true" style={{ fill: `var(${colour})` }}>
      <path fillRule="evenodd" d={PATHS[shape]} />
    </svg>
  );
}

// A state: shape, colour and word. A word that we do not know yet is shown as the scheduler says it.
export function Badge({ kind, state }: { kind: StateKind; state: string }) {
  const { t } = useTranslation('common');
  const look = lookOf(kind, state);
  return (
    <span className={styles.badge} data-state={state}>
      <StateShape {...look} />
      {state in LOOKS[kind] ? t(`${kind}.${state}`) : state}
    </span>
  );
}
