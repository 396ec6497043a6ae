// Measures instead of testing: `tests/bench/run web` runs this and reads what is printed.
import { defineConfig } from '@playwright/test';
import config from './playwright.config';

export default defineConfig({
  ...config,
  testDir: 'e2e/bench',
  testMatch: '*.bench.ts',
  globalSetup: undefined,
  timeout: 900_000,
  reporter: [['list']],
});
