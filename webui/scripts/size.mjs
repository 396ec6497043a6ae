// What a first visit loads, gzipped: the shell with its words and styles, and each page with its chunks. Fails beyond
// the budget.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET = 200 * 1024;
const dist = `${process.env.GLIM_WEB_DIST ?? fileURLToPath(new URL('../dist', import.meta.url))}/`;
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
for (const key of Object.keys(manifest)) {
  const page = /^src\/pages\/(\w+)\/(\w+)\.tsx$/.exec(key);
  if (!page || !manifest[key].isDynamicEntry) continue;
  const all = new Set([...shell, ...filesOf(key)]);
  const words = `src/pages/${page[1]}/words.zh.json`;
  if (manifest[words]) filesOf(words).forEach((file) => all.add(file));
  console.log(`page ${page[1]} ${shown(sum(all) - sum(shell))}, with the shell ${shown(sum(all))}`);
  largest = Math.max(largest, sum(all));
}
console.log(`largest first load ${shown(largest)} of ${shown(BUDGET)}`);
if (largest > BUDGET) process.exit(1);
