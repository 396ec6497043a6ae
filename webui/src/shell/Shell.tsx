import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { useHasRole } from '../api/session';
import type { Language } from '../i18n/i18n';
import { Button } from '../ui/Button';
import { classes } from '../ui/classes';
import { ClusterName } from './ClusterName';
import { navigation, type Page } from './pages';
import styles from './Shell.module.css';
import { StreamBanner, StreamSign } from './StreamState';
import { UserMenu } from './UserMenu';

const loadPalette = () => import('./Palette');
const Palette = lazy(loadPalette);

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

function usePaletteKeys(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isCtrlK = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
      if (!isCtrlK && !isSlash) return;
      event.preventDefault();
      open();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [open]);
}

export function Shell({ children }: { children: ReactNode }) {
  const { t } = useTranslation('common');
  const [asking, setAsking] = useState(false);
  const [openPalette] = useState(() => () => setAsking(true));
  usePaletteKeys(openPalette);
  // Loaded when there is time, so that who types at once loses no letter. If the scheduler is away just then, it is
  // loaded when somebody asks for it.
  useEffect(() => void (window.requestIdleCallback ?? setTimeout)(() => void loadPalette().catch(() => undefined)), []);
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip} onClick={() => document.getElementById('main')?.focus()}>
        {t('skip')}
      </a>
      <header className={styles.header}>
        <Link href="/" className={styles.logo}>
          <img src="/glim.svg" alt="" width={18} height={18} /> Glim
        </Link>
        <ClusterName />
        <div className={styles.space} />
        <StreamSign />
        <Button className={styles.ask} onClick={openPalette} aria-keyshortcuts="Control+K /">
          {t('palette.open')} <kbd>Ctrl K</kbd>
        </Button>
        <UserMenu />
      </header>
      <nav aria-label={t('navigation')} className={styles.nav}>
        {navigation.map((page) => (
          <NavLink key={page.name} page={page} />
        ))}
      </nav>
      <main id="main" tabIndex={-1} className={styles.main}>
        <StreamBanner />
        {children}
      </main>
      {asking && (
        <Suspense fallback={null}>
          <Palette onClose={() => setAsking(false)} />
        </Suspense>
      )}
    </div>
  );
}

function NavLink({ page }: { page: Page }) {
  const { i18n } = useTranslation();
  const [path] = useLocation();
  const here = path === page.path || path.startsWith(`${page.path}/`);
  if (!useHasRole(page.role ?? 'viewer')) return null;
  return (
    <Link
      href={page.path}
      className={classes(styles.link, here && styles.here)}
      aria-current={here ? 'page' : undefined}
    >
      {page.title[i18n.language as Language]}
    </Link>
  );
}
