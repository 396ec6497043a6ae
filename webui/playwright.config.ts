import { defineConfig } from '@playwright/test';

// How much longer waits may take on this machine than on a quiet one. No spec has a bound of its own.
const slower = Number(process.env.GLIM_TEST_SLOWER ?? 1);

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/.out',
  snapshotPathTemplate: '{testDir}/__screenshots__/{arg}{ext}',
  globalSetup: './e2e/harness/global-setup.ts',
  workers: 1, // the cluster is one for all, and each test leaves it idle
  timeout: 300_000 * slower,
  expect: { timeout: 120_000 * slower },
  reporter: [['list']],
  use: {
    ignoreHTTPSErrors: true,
    locale: 'en-US',
    timezoneId: 'Europe/Berlin',
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.GLIM_CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-dev-shm-usage', // in containers it is small
        '--ignore-certificate-errors', // also of the shared worker, which the option above does not reach
      ],
    },
  },
});
