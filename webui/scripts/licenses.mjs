// LICENSES: the licences of what is shipped, that is of the dependencies (not those of development) and theirs.
// --check: fails where the file is not up to date, or a licence is none that may be shipped with Apache-2.0.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = `${root}LICENSES`;
const ALLOWED = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Unlicense', 'Apache-2.0']);
const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'));

const parts = [];
for (const [path, { dev, devOptional, optional, version }] of Object.entries(packages).sort()) {
  if (!path || dev || devOptional || optional || path.includes('node_modules/@types/')) continue;
  const folder = `${root}${path}/`;
  const { name, license } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'));
  if (!ALLOWED.has(license)) throw new Error(`${name}: ${license} is not among the licences that may be shipped`);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file ? readFileSync(folder + file, 'utf8').trim() : `${license}, as its package.json says`;
  parts.push(`${name} ${version} (${license})\n\n${text}\n`);
}
const all = parts.join(`\n${'-'.repeat(80)}\n\n`);
const current = existsSync(target) ? readFileSync(target, 'utf8') : '';
if (!process.argv.includes('--check')) writeFileSync(target, all);
else if (all !== current) throw new Error('LICENSES is not up to date: npm run licenses');
