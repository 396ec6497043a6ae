// What operators look after. Each change says first what was, what will be, and whom it is about.
import { useTranslation } from 'react-i18next';
import { ErrorNote } from '../../ui/ErrorNote';
import { Page } from '../../ui/Page';
import { Loading } from '../../ui/states-of-pages';
import { Tabs } from '../../ui/Tabs';
import { useAccounts, useLayout } from '../usage/queries';
import { Audit } from './Audit';
import { KINDS, type Kind } from './kinds';
import { useFreshRows } from './queries';
import { Policy } from './Policy';
import { Reservations } from './Reservations';
import { Rows } from './Rows';
import { Tokens } from './Tokens';

export default function AdminPage() {
  const { t } = useTranslation('admin');
  useFreshRows();
  return (
    <Page title={t('title')}>
      <Tabs
        label={t('title')}
        tabs={[
          ...KINDS.slice(0, 3).map((kind) => tabOf(kind, t(`tabs.${kind.name}`))),
          { key: 'token', title: t('tabs.token'), content: () => <Tokens /> },
          { key: 'reservation', title: t('tabs.reservation'), content: () => <Reservations /> },
          ...KINDS.slice(3).map((kind) => tabOf(kind, t(`tabs.${kind.name}`))),
          { key: 'policy', title: t('tabs.policy'), content: () => <Policy /> },
          { key: 'audit', title: t('tabs.audit'), content: () => <Audit /> },
        ]}
      />
    </Page>
  );
}

const tabOf = (kind: Kind, title: string) => ({ key: kind.name, title, content: () => <KindTab kind={kind} /> });

function KindTab({ kind }: { kind: Kind }) {
  const accounts = useAccounts();
  const layout = useLayout();
  const error = accounts.error ?? layout.error;
  if (error) return <ErrorNote error={error} again={() => void Promise.all([accounts.refetch(), layout.refetch()])} />;
  if (!accounts.data || !layout.data) return <Loading />;
  return <Rows key={kind.name} kind={kind} accounts={accounts.data} layout={layout.data} />;
}
