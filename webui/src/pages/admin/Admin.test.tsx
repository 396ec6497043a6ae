import { describe, expect, it } from 'vitest';
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
