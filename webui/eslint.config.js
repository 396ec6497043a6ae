import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['dist', 'src/api/schema.gen.ts', 'e2e/.out'] },
  js.configs.recommended,
  ...ts.configs.recommended,
  hooks.configs.flat['recommended-latest'],
  {
    rules: {
      'max-lines': ['error', { max: 400 }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: false, skipComments: false }],
      'max-len': ['error', { code: 120, ignoreUrls: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { object: 'JSON', property: 'parse', message: 'api/parse.ts keeps 64 bits' },
      ],
    },
  },
  { files: ['**/*.mjs', '*.config.*'], languageOptions: { globals: globals.node } },
  {
    files: ['**/*.test.{ts,tsx}', 'e2e/**', 'scripts/**', 'src/api/parse.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'no-restricted-properties': 'off',
      'react-hooks/rules-of-hooks': 'off',
      'no-empty-pattern': 'off',
    },
  },
);
