// What a first visit loads, gzipped: the shell with its words and styles, and each page with its chunks. Fails beyond
// the budget. What a page loads behind its first paint (a chart, YAML) is named beside it.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET = 200 * 1024;
const source = fileURLToPath(new URL('..', import.meta.url));
const dist = `${process.env.GLIM_WEB_DIST ?? `${source}dist`}/`;
const manifest = JSON.parse(readFileSync(`${dist}manifest.json`, 'utf8'));

// A chunk, what it imports, and their styles.
function filesOf(key, seen = new Set()) {
  const chunk = manifest[key];
  if (seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const style of chunk.css ?? []) seen.add(style);
  for (const imported of chunk.imports ?? []) filesOf(imported, seen);
  return seen;
}

const sizes = new Map();
function sizeOf(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(dist + file), { level: 6 }).length);
  return sizes.get(file);
}
const sum = (files) => [...files].reduce((all, file) => all + sizeOf(file), 0);
const shown = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`;

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const shell = new Set(['index.html', ...filesOf(entry), ...filesOf('src/i18n/words.zh.json')]);
console.log(`shell ${shown(sum(shell))}`);
let largest = sum(shell);
for (const name of readdirSync(`${source}src/pages`)
  .filter((folder) => !folder.endsWith('.md'))
  .sort()) {
  const view = `src/pages/${name}/${name[0].toUpperCase()}${name.slice(1)}.tsx`;
  if (!manifest[view]?.isDynamicEntry) throw new Error(`${view} shares its chunk with a part of it`);
  const all = new Set([...shell, ...filesOf(view), ...filesOf(`src/pages/${name}/words.zh.json`)]);
  const part = new RegExp(`^src/pages/${name}/(\\w+)\\.tsx$`);
  const later = Object.keys(manifest)
    .filter((key) => part.test(key) && key !== view && manifest[key].isDynamicEntry)
    .map((key) => `; later ${part.exec(key)[1]} ${shown(sum([...filesOf(key)].filter((file) => !all.has(file))))}`);
  console.log(`page ${name} ${shown(sum(all) - sum(shell))}, with the shell ${shown(sum(all))}${later.join('')}`);
  largest = Math.max(largest, sum(all));
}
console.log(`largest first load ${shown(largest)} of ${shown(BUDGET)}`);
if (largest > BUDGET) process.exit(1);
