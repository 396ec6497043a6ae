import { createColumnHelper } from '@tanstack/react-table';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { useSession } from '../../api/session';
import { ActionDialog } from '../../ui/ActionDialog';
import { Time } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { DataTable, type Columns } from '../../ui/DataTable';
import { Dialog } from '../../ui/Dialog';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command } from '../../ui/Explained';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import styles from './Admin.module.css';
import { createToken, refreshTokens, revokeToken, useTokens } from './queries';

type Token = Schemas['Token'];
const SCOPES = ['read', 'submit', 'all'] as const;
const DAY_MS = 86_400_000;

export function Tokens() {
  const { t } = useTranslation('admin');
  const asked = useTokens();
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Token | null>(null);
  const [made, setMade] = useState('');
  const columns = useMemo(() => columnsOf(t, setEnding), [t]);
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  return (
    <>
      <div className={styles.head}>
        <p className="weak">{t('words.token')}</p>
        <Button onClick={() => setMaking(true)}>{t('add.token')}</Button>
      </div>
      <DataTable
        label={t('tabs.token')}
        rows={asked.data.tokens}
        columns={columns}
        keyOf={(token) => token.id}
        empty={<EmptyState title={t('none')} />}
      />
      {making && <Make onMade={setMade} onClose={() => setMaking(false)} />}
      {made && (
        <Dialog title={t('token.made')} onClose={() => setMade('')}>
          <p>{t('token.once')}</p>
          <div data-part="secret">
            <Command text={made} />
          </div>
        </Dialog>
      )}
      {ending && <Revoke token={ending} onClose={() => setEnding(null)} />}
    </>
  );
}

function Make({ onMade, onClose }: { onMade: (token: string) => void; onClose: () => void }) {
  const { t } = useTranslation('admin');
  const [words, setWords] = useState({ user: useSession().user, scope: 'read', days: '90', note: '' });
  const days = Math.max(0, Number(words.days) || 0);
  const set = (change: Partial<typeof words>) => setWords({ ...words, ...change });
  const make = async () => {
    const { user, scope, note } = words;
    const { token } = await createToken({ user, scope, note, ttl_ms: days * DAY_MS });
    await refreshTokens();
    onMade(token);
  };
  return (
    <ActionDialog
      title={t('add.token')}
      verb={t('add.token')}
      preview={() => Promise.resolve(words)}
      previewKey={['token', words]}
      changes={({ user }) => user !== '' && days > 0}
      show={({ user, scope }) => <p>{t('token.does', { user, scope: t(`scopes.${scope}`), count: days })}</p>}
      act={make}
      reason="none"
      command={`glim admin token create --user ${words.user} --scope ${words.scope} --ttl ${days}d`}
      onClose={onClose}
    >
      <div className={styles.fields}>
        <label>
          {t('fields.user')}
          <input value={words.user} autoComplete="off" onChange={(event) => set({ user: event.target.value })} />
        </label>
        <label>
          {t('fields.scope')}
          <select value={words.scope} onChange={(event) => set({ scope: event.target.value })}>
            {SCOPES.map((scope) => (
              <option key={scope} value={scope}>
                {t(`scopes.${scope}`)}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t('fields.days')}
          <input value={words.days} inputMode="numeric" onChange={(event) => set({ days: event.target.value })} />
        </label>
        <label>
          {t('fields.note')}
          <input value={words.note} autoComplete="off" onChange={(event) => set({ note: event.target.value })} />
        </label>
      </div>
    </ActionDialog>
  );
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const { t } = useTranslation('admin');
  return (
    <ActionDialog
      title={t('token.revokeOf', { id: token.id })}
      verb={t('token.revoke')}
      preview={() => Promise.resolve(token)}
      previewKey={['revoke', token.id]}
      show={({ user }) => <p>{t('token.revokeDoes', { user })}</p>}
      act={() => revokeToken(token.id).then(refreshTokens)}
      reason="none"
      command={`glim admin token revoke ${token.id}`}
      danger
      onClose={onClose}
    />
  );
}

function columnsOf(t: TFunction, end: (token: Token) => void): Columns<Token> {
  const of = createColumnHelper<Token>();
  const named = (key: 'id' | 'user' | 'made_by' | 'note', width: string, wide: boolean) =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width, wide },
      cell: (cell) => <span data-name>{cell.getValue()}</span>,
    });
  const time = (key: 'created_at_ms' | 'expires_at_ms' | 'last_used_ms') =>
    of.accessor(key, {
      header: t(`fields.${key}`),
      meta: { width: '112px', wide: key !== 'expires_at_ms' },
      cell: (cell) => <Time atMs={cell.getValue()} />,
    });
  return [
    named('user', 'minmax(80px, 1fr)', false),
    named('id', '150px', true),
    of.accessor('scope', {
      header: t('fields.scope'),
      meta: { width: '90px', wide: true },
      cell: (cell) => t(`scopes.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    of.accessor('origin', {
      header: t('fields.origin'),
      meta: { width: '110px', wide: true },
      cell: (cell) => t(`origins.${cell.getValue()}`, { defaultValue: cell.getValue() }),
    }),
    named('made_by', '90px', true),
    time('created_at_ms'),
    time('expires_at_ms'),
    time('last_used_ms'),
    named('note', 'minmax(80px, 1fr)', true),
    of.display({
      id: 'acts',
      header: () => <span className="hidden">{t('acts')}</span>,
      meta: { width: '100px' },
      cell: ({ row }) => (
        <Button
          kind="quiet"
          className={styles.small}
          aria-label={t('token.revokeOf', { id: row.original.id })}
          onClick={() => end(row.original)}
        >
          {t('token.revoke')}
        </Button>
      ),
    }),
  ];
}
