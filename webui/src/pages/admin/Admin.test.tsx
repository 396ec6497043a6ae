import { describe, expect, it } from 'vitest';
import {
  commandOf as reserveCommand,
  draftOf,
  isSame,
  isWhole,
  localOf,
  msOf,
  requestOf,
  type Reservation,
} from './reservation';
import { changeOf, commandOf, KINDS, listOf, type Kind } from './kinds';

const kind = (name: string) => KINDS.find((one) => one.name === name) as Kind;

describe('rows', () => {
  it('go back without what the scheduler alone says', () => {
    const quota = { of: 'user', subject: 'kim', pool: '*', priority: 'high', nodes: 2, meaning: 'at most' };
    expect(changeOf(kind('quota'), quota, false).quota).not.toHaveProperty('meaning');
    expect(changeOf(kind('quota'), quota, false).quota).toHaveProperty('nodes', 2);
    expect(changeOf(kind('pool'), { name: 'a', note: '', nodes: 4, has_row: true }, true)).toEqual({
      remove: true,
      pool: { name: 'a', note: '' },
    });
  });

  it('have their commands', () => {
    const quota = { of: 'team_user', subject: 'vision', pool: 'a100', priority: 'high', nodes: 2 };
    expect(commandOf(kind('quota'), quota, false)).toBe('glim admin quota set team-user:vision high 2 --pool a100');
    expect(commandOf(kind('quota'), { ...quota, of: 'everybody', subject: '' }, true)).toBe(
      'glim admin quota remove everybody high --pool a100',
    );
    expect(commandOf(kind('link'), { zone_a: 'A', zone_b: 'B', jobs_max: 2, pairs_max: 1 }, false)).toBe(
      'glim admin link set A B --jobs-max 2 --pairs-max 1',
    );
    expect(listOf('a, b  c')).toEqual(['a', 'b', 'c']);
  });
});

describe('reservations', () => {
  const row: Reservation = {
    name: 'release',
    team: 'vision',
    pool: 'default',
    share: 2,
    node_names: [],
    begins_at_ms: 1_800_000_012_345,
    begins_at: null,
    ends_at_ms: 1_800_003_612_345,
    ends_at: null,
    reason: 'a deadline',
    made_by: 'ann',
    made_at_ms: 0,
    made_at: null,
    state: 'planned',
    nodes: [],
  };

  it('keep what nobody has changed, to the millisecond', () => {
    const same = requestOf(draftOf(row), row, 0);
    expect(same).toMatchObject({
      begins_at_ms: row.begins_at_ms,
      ends_at_ms: row.ends_at_ms,
      pool: 'default',
      share: 2,
    });
    expect(requestOf({ ...draftOf(row), ends: localOf(row.ends_at_ms + 120_000) }, row, 0).ends_at_ms).toBe(
      Math.floor((row.ends_at_ms + 120_000) / 60_000) * 60_000,
    );
    expect(requestOf(draftOf(row), row, row.begins_at_ms + 1).begins_at_ms).toBe(0); // as it began
  });

  it('are of nodes or of a share, never of both', () => {
    const draft = { ...draftOf(row), of: 'nodes' as const, nodes: 'n1 n2' };
    expect(requestOf(draft, row, 0)).toMatchObject({ node_names: ['n1', 'n2'], pool: '', share: 0 });
    expect(isWhole(draft)).toBe(true);
    expect(isWhole({ ...draft, nodes: ' ' })).toBe(false);
    expect(isSame(row, { ...row, made_by: 'bob' })).toBe(true);
    expect(isSame(row, { ...row, node_names: ['n1'] })).toBe(false);
  });

  it('have their command, with times that mean the same everywhere', () => {
    expect(msOf(localOf(1_800_000_000_000))).toBe(1_800_000_000_000);
    expect(reserveCommand(draftOf(row))).toBe(
      'glim admin reserve set release --team vision --pool default --nodes 2 --from 2027-01-15T08:00Z ' +
        "--until 2027-01-15T09:00Z --reason 'a deadline'",
    );
  });
});
