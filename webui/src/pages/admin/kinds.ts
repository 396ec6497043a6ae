// The six kinds of rows that operators change: their fields, what a change of one is, and the command that makes it.
// Pure.
import type { Schemas } from '../../api/client';
import { CLASSES } from '../job/actions';
import { quote } from '../submit/shell';

export type Accounts = Schemas['ListAccountsResponse'];
export type Layout = Schemas['ListLayoutResponse'];
export type Change = Schemas['RowChangeInput'];
export type Values = Record<string, unknown>;

export interface FieldSpec {
  name: string;
  kind: 'text' | 'number' | 'list' | 'check' | 'select';
  options?: readonly string[];
  key?: boolean; // names the row: not changed afterwards
  width?: string;
}

export interface Kind {
  name: 'user' | 'team' | 'quota' | 'pool' | 'zone' | 'link';
  fields: FieldSpec[];
  fresh: Values; // of a new row
  rows: (accounts: Accounts, layout: Layout) => Values[];
  idOf: (row: Values) => string; // as the command line names it
  flags: (row: Values) => string;
}

const text = (value: unknown) => String(value ?? '');
const list = (value: unknown) => (Array.isArray(value) ? value.join(',') : '');
const flag = (name: string, value: string) => (value ? ` --${name} ${quote(value)}` : '');
const SUBJECTS = ['user', 'team', 'team_user', 'default_user', 'everybody'] as const;
const ALONE = ['default_user', 'everybody'];

const note: FieldSpec = { name: 'note', kind: 'text', width: 'minmax(140px, 3fr)' };
const name: FieldSpec = { name: 'name', kind: 'text', key: true, width: 'minmax(90px, 1fr)' };

export const KINDS: Kind[] = [
  {
    name: 'user',
    fields: [
      name,
      { name: 'teams', kind: 'list', width: 'minmax(100px, 1fr)' },
      { name: 'role', kind: 'select', options: ['viewer', 'user', 'operator', 'admin'], width: '110px' },
      { name: 'admin_of', kind: 'list', width: 'minmax(90px, 1fr)' },
      { name: 'disabled', kind: 'check', width: '96px' },
    ],
    fresh: { name: '', teams: [], admin_of: [], role: 'user', disabled: false },
    rows: (accounts) => accounts.users,
    idOf: (row) => text(row.name),
    flags: (row) =>
      flag('team', list(row.teams)) +
      flag('role', text(row.role)) +
      flag('admin-of', list(row.admin_of)) +
      (row.disabled ? ' --disable' : ' --enable'),
  },
  {
    name: 'team',
    fields: [
      name,
      { name: 'weight', kind: 'number', width: '90px' },
      { name: 'pools', kind: 'list' },
      { name: 'default_pool', kind: 'text' },
    ],
    fresh: { name: '', weight: 100, pools: [], default_pool: '' },
    rows: (accounts) => accounts.teams,
    idOf: (row) => text(row.name),
    flags: (row) =>
      flag('weight', text(row.weight)) + flag('pools', list(row.pools)) + flag('default-pool', text(row.default_pool)),
  },
  {
    name: 'quota',
    fields: [
      { name: 'of', kind: 'select', options: SUBJECTS, key: true, width: '120px' },
      { name: 'subject', kind: 'text', key: true },
      { name: 'pool', kind: 'text', key: true, width: '90px' },
      { name: 'priority', kind: 'select', options: CLASSES.filter((one) => one !== 'auto'), key: true },
      { name: 'nodes', kind: 'number', width: '76px' },
    ],
    fresh: { of: 'user', subject: '', pool: '*', priority: 'normal', nodes: 1 },
    rows: (accounts) => accounts.quotas,
    idOf: ({ of, subject, priority }) => {
      const who = text(of).replaceAll('_', '-');
      return `${ALONE.includes(text(of)) ? who : `${who}:${quote(text(subject))}`} ${text(priority)}`;
    },
    flags: (row) => ` ${text(row.nodes)}` + (row.pool === '*' ? '' : flag('pool', text(row.pool))),
  },
  {
    name: 'pool',
    fields: [name, note],
    fresh: { name: '', note: '' },
    rows: (_accounts, layout) => layout.pools,
    idOf: (row) => text(row.name),
    flags: (row) => flag('note', text(row.note)),
  },
  {
    name: 'zone',
    fields: [name, note],
    fresh: { name: '', note: '' },
    rows: (_accounts, layout) => layout.zones,
    idOf: (row) => text(row.name),
    flags: (row) => flag('note', text(row.note)),
  },
  {
    name: 'link',
    fields: [
      { name: 'zone_a', kind: 'text', key: true },
      { name: 'zone_b', kind: 'text', key: true },
      { name: 'jobs_max', kind: 'number' },
      { name: 'pairs_max', kind: 'number' },
    ],
    fresh: { zone_a: '', zone_b: '', jobs_max: 1, pairs_max: 1 },
    rows: (_accounts, layout) => layout.links,
    idOf: (row) => `${text(row.zone_a)} ${text(row.zone_b)}`,
    flags: (row) => ` --jobs-max ${text(row.jobs_max)} --pairs-max ${text(row.pairs_max)}`,
  },
];

// What the scheduler alone has to say of a row is not sent back.
const TOLD = ['meaning', 'has_row', 'jobs'];

export function changeOf(kind: Kind, row: Values, remove: boolean): Change {
  const isLayout = kind.name === 'pool' || kind.name === 'zone';
  const said = Object.entries(row).filter(([key]) => !TOLD.includes(key) && !(isLayout && key === 'nodes'));
  return { remove, [kind.name]: Object.fromEntries(said) };
}

export function commandOf(kind: Kind, row: Values, remove: boolean): string {
  const word = kind.name === 'pool' || kind.name === 'zone' || kind.name === 'link' ? 'rm' : 'remove';
  if (!remove) return `glim admin ${kind.name} set ${kind.idOf(row)}${kind.flags(row)}`;
  const pool = kind.name === 'quota' && row.pool !== '*' ? flag('pool', text(row.pool)) : '';
  return `glim admin ${kind.name} ${word} ${kind.idOf(row)}${pool}`;
}

export function listOf(words: string): string[] {
  return words.split(/[\s,]+/).filter(Boolean);
}
