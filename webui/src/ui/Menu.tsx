import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { classes } from './classes';
import button from './Button.module.css';
import styles from './Menu.module.css';

export interface MenuItem {
  key: string;
  title: ReactNode;
  act: () => void;
  checked?: boolean; // of items of which one is chosen
  group?: string; // a heading before the first of them
}

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

export function Menu({ label, title, items }: { label: string; title: ReactNode; items: MenuItem[] }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const inside = () => [...(box.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
  useEffect(() => {
    if (open) box.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
  }, [open]);
  const close = () => {
    setOpen(false);
    box.current?.querySelector('button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === 'Escape') return close();
    const list = inside();
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    list[step(list.indexOf(document.activeElement as HTMLElement), list.length)]?.focus();
  };
  return (
    <div
      ref={box}
      className={styles.box}
      onKeyDown={onKeyDown}
      onBlur={(event) => box.current?.contains(event.relatedTarget) || setOpen(false)}
    >
      <button
        type="button"
        className={classes(button.button, button.quiet)}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={label}
        onClick={() => setOpen(!open)}
      >
        {title}
      </button>
      {open && (
        <div role="menu" id={id} aria-label={label} className={styles.menu}>
          {items.map((item, at) => (
            <Item key={item.key} item={item} before={items[at - 1]} close={close} />
          ))}
        </div>
      )}
    </div>
  );
}

function Item({ item, before, close }: { item: MenuItem; before: MenuItem | undefined; close: () => void }) {
  return (
    <>
      {item.group && item.group !== before?.group && (
        <div role="presentation" className={styles.group}>
          {item.group}
        </div>
      )}
      <button
        type="button"
        tabIndex={-1}
        role={item.checked === undefined ? 'menuitem' : 'menuitemradio'}
        aria-checked={item.checked}
        className={styles.item}
        onClick={() => {
          close();
          item.act();
        }}
      >
        <span aria-hidden="true" className={styles.check}>
          {item.checked ? '✓' : ''}
        </span>
        {item.title}
      </button>
    </>
  );
}
