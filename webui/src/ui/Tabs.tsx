import { useId, type KeyboardEvent, type ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import { classes } from './classes';
import styles from './Tabs.module.css';

interface Tab {
  key: string;
  title: string;
  content: () => ReactNode; // made when it is shown
}

// Which one is shown stands in the address (`?tab=`); the first needs no word there.
export function Tabs({ tabs, label, name = 'tab' }: { tabs: Tab[]; label: string; name?: string }) {
  const [search, setSearch] = useSearchParams();
  const id = useId();
  const shown = Math.max(
    0,
    tabs.findIndex((tab) => tab.key === search.get(name)),
  );
  const show = (at: number) => {
    const tab = tabs[(at + tabs.length) % tabs.length];
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (!tab || tab === tabs[0]) after.delete(name);
        else after.set(name, tab.key);
        return after;
      },
      { replace: true },
    );
    document.getElementById(`${id}${tab?.key}`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowRight: shown + 1, ArrowLeft: shown - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  };
  return (
    <>
      <div role="tablist" aria-label={label} className={styles.tabs} onKeyDown={onKeyDown}>
        {tabs.map((tab, at) => (
          <button
            key={tab.key}
            id={`${id}${tab.key}`}
            type="button"
            role="tab"
            aria-selected={at === shown}
            aria-controls={`${id}panel`}
            tabIndex={at === shown ? 0 : -1}
            className={classes(styles.tab, at === shown && styles.shown)}
            onClick={() => show(at)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}panel`} aria-labelledby={`${id}${tabs[shown]?.key}`} className={styles.panel}>
        {tabs[shown]?.content()}
      </div>
    </>
  );
}
