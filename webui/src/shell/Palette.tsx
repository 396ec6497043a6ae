// The command palette: pages, jobs by number or name, nodes. In a chunk of its own.
import { Command } from 'cmdk';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { useSession, type Role } from '../api/session';
import type { Language } from '../i18n/i18n';
import { useNodes, useQueue } from '../live/hooks';
import { Badge } from '../ui/Badge';
import { jobPath, nodePath } from './links';
import { hasPage, navigation } from './pages';
import styles from './Palette.module.css';

const SHOWN = 12;
const ROLES: Role[] = ['viewer', 'user', 'operator', 'admin'];

// The first few that match: those whose text begins so come first.
export function matches<Row>(rows: Row[], text: string, textOf: (row: Row) => string): Row[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const places = rows.map((row) => [textOf(row).toLowerCase().indexOf(wanted), row] as const);
  const found = places.filter(([place]) => place >= 0);
  return [...found.filter(([place]) => place === 0), ...found.filter(([place]) => place > 0)]
    .slice(0, SHOWN)
    .map(([, row]) => row);
}

export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('common');
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [, go] = useLocation();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector('input')?.focus();
    return () => shown?.close();
  }, []);
  const open = (path: string) => {
    onClose();
    go(path);
  };
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-label={t('palette.open')}
      onCancel={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <Command label={t('palette.open')} shouldFilter={false} loop>
        <Command.Input value={text} onValueChange={setText} placeholder={t('palette.what')} className={styles.input} />
        <Command.List className={styles.list} label={t('palette.found')}>
          <Command.Empty className={styles.none}>{t('palette.none')}</Command.Empty>
          <Pages text={text} open={open} />
          <Jobs text={text} open={open} />
          {hasPage('/nodes/:name') && <Nodes text={text} open={open} />}
        </Command.List>
      </Command>
    </dialog>
  );
}

interface Part {
  text: string;
  open: (path: string) => void;
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group heading={heading} className={styles.group}>
      {children}
    </Command.Group>
  );
}

function Pages({ text, open }: Part) {
  const { t, i18n } = useTranslation('common');
  const role = ROLES.indexOf(useSession().role as Role);
  const mine = navigation.filter((page) => role >= ROLES.indexOf(page.role ?? 'viewer'));
  const found = text.trim()
    ? matches(mine, text, (page) => `${page.title[i18n.language as Language]} ${page.name}`)
    : mine;
  return (
    found.length > 0 && (
      <Group heading={t('palette.pages')}>
        {found.map((page) => (
          <Command.Item key={page.name} value={page.path} className={styles.item} onSelect={() => open(page.path)}>
            {page.title[i18n.language as Language]}
          </Command.Item>
        ))}
      </Group>
    )
  );
}

function Jobs({ text, open }: Part) {
  const { t } = useTranslation('common');
  const { rows } = useQueue();
  const found = matches(rows, text, (row) => `${row.id} ${row.name}`);
  const number = /^\s*\d+\s*$/.test(text) ? text.trim() : '';
  const isListed = found.some((row) => String(row.id) === number);
  return (
    (found.length > 0 || number !== '') && (
      <Group heading={t('palette.jobs')}>
        {number !== '' && !isListed && (
          <Command.Item value={`job ${number}`} className={styles.item} onSelect={() => open(jobPath(BigInt(number)))}>
            {t('palette.job', { id: number })}
          </Command.Item>
        )}
        {found.map((row) => (
          <Command.Item
            key={String(row.id)}
            value={`job ${row.id}`}
            className={styles.item}
            onSelect={() => open(jobPath(row.id))}
          >
            <span className="weak">{String(row.id)}</span> {row.name} <Badge kind="jobStates" state={row.state} />
          </Command.Item>
        ))}
      </Group>
    )
  );
}

function Nodes({ text, open }: Part) {
  const { t } = useTranslation('common');
  const { rows } = useNodes();
  const found = matches(rows, text, (row) => row.name);
  return (
    found.length > 0 && (
      <Group heading={t('palette.nodes')}>
        {found.map((row) => (
          <Command.Item
            key={row.name}
            value={`node ${row.name}`}
            className={styles.item}
            onSelect={() => open(nodePath(row.name))}
          >
            {row.name} <Badge kind="nodeStates" state={row.state} />
          </Command.Item>
        ))}
      </Group>
    )
  );
}
