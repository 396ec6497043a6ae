// Who has how much of each quota now: nodes of jobs that run, of the quota's class and above. Pure.
import type { Schemas } from '../../api/client';
import { num } from '../../api/int';
import type { QueueRow } from '../../live/types';
import { CLASSES } from '../job/actions';

export type Quota = Schemas['AccountQuota'];
type Accounts = Pick<Schemas['ListAccountsResponse'], 'users' | 'quotas'>;

export interface QuotaUse {
  key: string;
  quota: Quota;
  nodes: number;
  who: string; // of a quota of each user: whoever has the most; else empty
}

const HAS_NODES = ['starting', 'running', 'interrupting', 'cancelling', 'suspending'];
const rankOf = (priority: string) => (CLASSES as readonly string[]).indexOf(priority);

// The nearest takes the place of the others: a user's own, that of each user of the team, that of each user.
function hasNearer(quota: Quota, user: string, team: string, quotas: Quota[]): boolean {
  return quotas.some(
    (other) =>
      (other.of === 'user' && other.subject === user) ||
      (quota.of === 'default_user' && other.of === 'team_user' && other.subject === team),
  );
}

function countsFor(quota: Quota, row: QueueRow, quotas: Quota[]): boolean {
  if (quota.pool !== '*' && quota.pool !== row.pool) return false;
  if (rankOf(row.priority) < rankOf(quota.priority)) return false;
  if (quota.of === 'everybody') return true;
  if (quota.of === 'user') return row.user === quota.subject;
  if (quota.of === 'team') return row.team === quota.subject;
  if (quota.of === 'team_user' && row.team !== quota.subject) return false;
  return !hasNearer(quota, row.user, row.team, quotas);
}

export function quotaUses({ quotas }: Accounts, queue: readonly QueueRow[]): QuotaUse[] {
  const running = queue.filter((row) => HAS_NODES.includes(row.state));
  return quotas.map((quota) => {
    const counted = running.filter((row) => countsFor(quota, row, quotas));
    const key = `${quota.of}/${quota.subject}/${quota.pool}/${quota.priority}`;
    if (quota.of !== 'default_user' && quota.of !== 'team_user') {
      return { key, quota, nodes: counted.reduce((sum, row) => sum + num(row.nodes), 0), who: '' };
    }
    const each = new Map<string, number>();
    for (const row of counted) each.set(row.user, (each.get(row.user) ?? 0) + num(row.nodes));
    const [who, nodes] = [...each].sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
    return { key, quota, nodes, who };
  });
}

// Who the quota bounds, of the users that there are.
export function boundedBy(quota: Pick<Quota, 'of' | 'subject'>, { users, quotas }: Accounts): string[] {
  const asked = { ...quota, pool: '*', priority: '', nodes: 0, meaning: '' };
  if (quota.of === 'user') return [quota.subject];
  return users
    .filter(({ teams }) => (quota.of.startsWith('team') ? teams.includes(quota.subject) : true))
    .filter(({ name, teams }) => (quota.of.endsWith('_user') ? !hasNearer(asked, name, teams[0] ?? '', quotas) : true))
    .map(({ name }) => name);
}
