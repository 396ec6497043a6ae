import type { ButtonHTMLAttributes } from 'react';
import { classes } from './classes';
import styles from './Button.module.css';

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'plain' | 'main' | 'danger' | 'quiet';
}

export function Button({ kind = 'plain', className, ...rest }: Props) {
  return <button type="button" className={classes(styles.button, styles[kind], className)} {...rest} />;
}
