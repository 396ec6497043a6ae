// Where GPU-hours went, and what may be had.
import { useTranslation } from 'react-i18next';
import { FilterBar } from '../../ui/FilterBar';
import { Page } from '../../ui/Page';
import { Tabs } from '../../ui/Tabs';
import { useFilters } from '../../ui/useFilters';
import { GroupChoice, RangeChoice } from './Choices';
import { History } from './History';
import { Ledger } from './Ledger';
import { GROUPS, useAccounts, useFreshReports, useLayout, type Group } from './queries';
import { Quotas } from './Quotas';
import styles from './Usage.module.css';

const plain = (value: string) => ({ value, label: value });

export default function UsagePage() {
  const { t } = useTranslation('usage');
  const [all, set] = useFilters('range', 'from', 'to', 'by', 'tab', 'pool', 'team', 'user');
  const { pool, team, user, ...words } = all;
  const filters = { pool, team, user };
  useFreshReports();
  const accounts = useAccounts().data;
  const pools = useLayout().data?.pools ?? [];
  const by: Group = GROUPS.find((one) => one === words.by) ?? 'team';
  const fields = [
    { name: 'pool' as const, label: t('by.pool'), options: pools.map(({ name }) => plain(name)) },
    { name: 'team' as const, label: t('by.team'), options: (accounts?.teams ?? []).map(({ name }) => plain(name)) },
    { name: 'user' as const, label: t('by.user'), options: (accounts?.users ?? []).map(({ name }) => plain(name)) },
  ];
  const isHistory = words.tab === '' || words.tab === 'running';
  const history = (running: boolean) => <History by={by} words={words} filters={filters} running={running} set={set} />;
  return (
    <Page title={t('title')}>
      <div className={styles.choices}>
        {words.tab === '' && <RangeChoice words={words} set={set} />}
        {words.tab !== 'quotas' && <GroupChoice by={by} set={set} />}
      </div>
      {isHistory && <FilterBar<'pool' | 'team' | 'user'> filters={filters} set={set} fields={fields} />}
      <Tabs
        label={t('title')}
        tabs={[
          { key: 'ended', title: t('tabs.ended'), content: () => history(false) },
          { key: 'running', title: t('tabs.running'), content: () => history(true) },
          { key: 'ledger', title: t('tabs.ledger'), content: () => <Ledger by={by} /> },
          { key: 'quotas', title: t('tabs.quotas'), content: () => <Quotas /> },
        ]}
      />
    </Page>
  );
}
