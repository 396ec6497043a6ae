// The draft as `glim submit ...`, and back. Pure.
import { parseDocument } from 'yaml';
import { countOf, readText, write, type Path } from './draft';
import { quote, split } from './shell';

const FLAGS: [flag: string, path: Path][] = [
  ['--name', 'name'],
  ['--nodes', 'nodes'],
  ['--pool', 'pool'],
  ['--priority', 'priority'],
  ['--gpus-per-node', 'gpus_per_node'],
  ['--launcher', 'launcher'],
  ['--grace', 'interrupt.grace'],
];
const SAID = [...FLAGS.map(([, path]) => path), 'workdir', 'run', 'code', 'apiVersion', 'kind'];
export const FILE_COMMAND = 'glim submit job.yaml';

function pathsOf(value: unknown, before = ''): Path[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [before];
  return Object.entries(value).flatMap(([name, one]) => pathsOf(one, before ? `${before}.${name}` : name));
}

// Whether flags can say all that the draft says.
export function isPlain(text: string): boolean {
  if (countOf(text) > 1) return false;
  const whole: unknown = parseDocument(text).toJS();
  return pathsOf(whole).every((path) => SAID.includes(path)) && readText(text, 'run') !== '';
}

export function commandOf(text: string): string {
  if (!isPlain(text)) return FILE_COMMAND;
  const flags = FLAGS.flatMap(([flag, path]) => {
    const value = readText(text, path);
    return value ? [`${flag} ${quote(value)}`] : [];
  });
  if (readText(text, 'code') === 'snapshot') flags.push('--snapshot');
  const workdir = readText(text, 'workdir');
  const go = workdir ? `cd ${quote(workdir)} && ` : '';
  return `${go}${['glim submit', ...flags].join(' ')} -- ${quote(readText(text, 'run'))}`;
}

export type Parsed = { text: string } | { wrong: string };

interface Said {
  values: Record<Path, unknown>;
  isFile: boolean;
}

function readFlags(words: string[]): Said | { wrong: string } {
  const values: Record<Path, unknown> = {};
  let isFile = false;
  for (let at = 0; at < words.length; at++) {
    const [name = '', given] = (words[at] ?? '').split(/=(.*)/s);
    if (name === '--') {
      const rest = words.slice(at + 1);
      values.run = rest.length === 1 ? rest[0] : rest.map(quote).join(' ');
      break;
    }
    const path = FLAGS.find(([flag]) => flag === name)?.[1];
    if (path) values[path] = given ?? words[++at] ?? '';
    else if (name === '--snapshot') values.code = 'snapshot';
    else if (name.startsWith('-')) return { wrong: name };
    else isFile = true;
  }
  return { values, isFile };
}

// What the draft becomes when this is what was meant. A file's flags overrule what it says and leave the rest.
export function applyCommand(text: string, line: string): Parsed {
  const words = split(line);
  if (!words) return { wrong: line.trim().at(-1) ?? '' };
  const values: Record<Path, unknown> = {};
  if (words[0] === 'cd') {
    values.workdir = words[1] ?? '';
    if (words[2] !== '&&') return { wrong: words[2] ?? 'cd' };
    words.splice(0, 3);
  }
  if (words[0] !== 'glim' || words[1] !== 'submit') return { wrong: words[0] ?? '' };
  const said = readFlags(words.slice(2));
  if ('wrong' in said) return said;
  const none = said.isFile
    ? {}
    : Object.fromEntries([...FLAGS.map(([, path]) => path), 'code', 'run'].map((p) => [p, '']));
  return { text: write(text, { ...none, ...values, ...said.values }) };
}
