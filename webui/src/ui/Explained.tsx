import { autoUpdate, flip, offset, shift, useFloating } from '@floating-ui/react-dom';
import { useEffect, useId, useRef, useState, type ReactNode, type RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './Button';
import { classes } from './classes';
import styles from './Explained.module.css';

interface Words {
  words: ReactNode; // what the number means
  command?: string; // that shows the same on the command line
}

// A number that says what it means when it is hovered or focused, with the command that shows the same. What is inside
// must be no button or link. `mark`: a small sign instead of the dotted line, for headers.
export function Explained({
  words,
  command,
  children,
  mark = false,
}: Words & { children?: ReactNode; mark?: boolean }) {
  const { t } = useTranslation('common');
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const id = useId();
  return (
    <span
      ref={box}
      className={styles.box}
      onMouseEnter={() => setOpen(true)}
      onMouseLeave={() => setOpen(false)}
      onFocus={() => setOpen(true)}
      onBlur={(event) => box.current?.contains(event.relatedTarget) || setOpen(false)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        setOpen(false);
      }}
    >
      <button
        type="button"
        className={classes(styles.word, mark && styles.mark)}
        aria-describedby={open ? id : undefined}
        aria-label={mark ? t('explain') : undefined}
      >
        {mark ? '?' : children}
      </button>
      {open && <Note id={id} anchor={box} words={words} command={command} />}
    </span>
  );
}

function Note({ id, anchor, words, command }: Words & { id: string; anchor: RefObject<HTMLElement | null> }) {
  const note = useRef<HTMLDivElement>(null);
  const { floatingStyles, refs } = useFloating({
    strategy: 'fixed',
    placement: 'bottom-start',
    middleware: [offset(4), flip(), shift({ padding: 8 })],
    whileElementsMounted: autoUpdate,
  });
  useEffect(() => {
    refs.setReference(anchor.current);
    refs.setFloating(note.current);
    note.current?.showPopover?.();
  }, [refs, anchor]);
  return (
    <div ref={note} id={id} role="note" popover="manual" className={styles.note} style={floatingStyles}>
      <div>{words}</div>
      {command && <Command text={command} />}
    </div>
  );
}

// A command line with a button that copies it.
export function Command({ text }: { text: string }) {
  const { t } = useTranslation('common');
  const [copied, setCopied] = useState(false);
  return (
    <div className={styles.command}>
      <code>{text}</code>
      <Button
        kind="quiet"
        aria-label={t('copyCommand', { command: text })}
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      >
        {copied ? t('copied') : t('copy')}
      </Button>
    </div>
  );
}
