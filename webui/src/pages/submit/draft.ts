// The draft of a job: one text in YAML, of which the form and the command line are views. Pure.
import { isMap, parseAllDocuments, parseDocument, stringify, type Document } from 'yaml';

export type Path = string; // "interrupt.grace"
const NUMBERS = ['nodes', 'gpus_per_node', 'checkpoint.keep'];

export interface Fault {
  field: Path; // empty: of the text as a whole
  word: 'yaml' | 'name' | 'run' | 'workdir' | 'workdirRelative';
  detail: string;
}

const partsOf = (path: Path) => path.split('.');

export function countOf(text: string): number {
  return parseAllDocuments(text).length;
}

export function read(text: string, path: Path): unknown {
  const value: unknown = parseDocument(text).getIn(partsOf(path));
  return isMap(value) ? value.toJSON() : value;
}

export function readText(text: string, path: Path): string {
  const value = read(text, path);
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

export function readNames(text: string, path: Path): string[] {
  const whole = parseDocument(text).toJS() as Record<string, unknown> | null;
  const list = whole?.[path];
  if (!Array.isArray(list)) return [];
  return list.map((one: unknown) => String((one as { name?: unknown } | null)?.name ?? one));
}

function put(doc: Document, path: Path, value: unknown): void {
  const parts = partsOf(path);
  const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
  if (!isEmpty) return doc.setIn(parts, value);
  if (!doc.hasIn(parts)) return;
  doc.deleteIn(parts);
  const above = parts.slice(0, -1);
  const map: unknown = above.length > 0 ? doc.getIn(above) : null;
  if (isMap(map) && map.items.length === 0) doc.deleteIn(above);
}

// What stands there otherwise stays as it is, with its comments. A text that is no YAML is not touched.
export function write(text: string, values: Record<Path, unknown>): string {
  const doc = parseDocument(text);
  if (doc.errors.length > 0 || (doc.contents !== null && !isMap(doc.contents))) return text;
  for (const [path, value] of Object.entries(values)) {
    const typed = NUMBERS.includes(path) && /^\d+$/.test(String(value)) ? Number(value) : value;
    put(doc, path, typed);
  }
  return doc.toString({ lineWidth: 0 });
}

// What can be told without asking: asking with these would be refused for sure.
export function faultOf(text: string): Fault | null {
  for (const doc of parseAllDocuments(text)) {
    const [error] = 'errors' in doc ? doc.errors : [];
    if (error) return { field: '', word: 'yaml', detail: error.message.split('\n')[0] ?? '' };
  }
  if (countOf(text) > 1) return null;
  for (const field of ['name', 'run', 'workdir'] as const) {
    if (readText(text, field).trim() === '') return { field, word: field, detail: '' };
  }
  if (!readText(text, 'workdir').startsWith('/')) return { field: 'workdir', word: 'workdirRelative', detail: '' };
  return null;
}

const LOOKS_SECRET = /TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY/i;

// Variables of `env` whose names say that their values are for nobody else's eyes.
export function secretLike(text: string): string[] {
  const env = read(text, 'env');
  return env && typeof env === 'object' ? Object.keys(env).filter((name) => LOOKS_SECRET.test(name)) : [];
}

export const FIRST = stringify({ name: 'train', nodes: 1, run: 'python train.py' });
