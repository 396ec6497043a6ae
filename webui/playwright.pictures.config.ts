// Makes the pictures of docs/dashboard.md: `npm run pictures`.
import { defineConfig } from '@playwright/test';
import config from './playwright.config';

export default defineConfig({
  ...config,
  testDir: 'e2e/pictures',
  testMatch: '*.pictures.ts',
  globalSetup: undefined,
});
