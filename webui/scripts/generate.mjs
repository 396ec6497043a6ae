// Makes src/api/schema.gen.ts from docs/openapi.json: the types of all paths, parameters, bodies and answers.
// 64-bit integers are `Int` (number | bigint), because they may not fit into a number; what ends in `_ms` always does.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const source = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
const target = fileURLToPath(new URL('../src/api/schema.gen.ts', import.meta.url));
const int = ts.factory.createTypeReferenceNode('Int');
const large = new Set(['int64', 'uint64']);

const document = JSON.parse(readFileSync(source, 'utf8'), (name, value) => {
  if (name.endsWith('_ms') && large.has(value?.format)) delete value.format;
  return value;
});
const nodes = await openapiTS(document, { transform: (schema) => (large.has(schema.format) ? int : undefined) });
const text = `import type { Int } from './int';\n\n${astToString(nodes)}`;
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
