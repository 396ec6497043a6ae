// The pictures of docs/dashboard.md, of real clusters: what they show is as like as can be from one time to the next.
import type { Page } from '@playwright/test';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Cluster } from '../harness/cluster';
import { expect, setLanguage, setTheme, test } from '../harness/fixtures';
import { Images } from '../harness/image';
import { fill, fillMany, SIMULATED } from '../harness/world';

const FOLDER = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const EACH_MAX = 120 * 1024;
const ALL_MAX = 1200 * 1024;
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };

async function picture(page: Page, name: string): Promise<void> {
  const images = await Images.of(page.context().browser()!);
  await page.mouse.move(0, 0);
  const webp = await images.webp(await page.screenshot({ animations: 'disabled' }));
  await images.close();
  expect(webp.length, name).toBeLessThan(EACH_MAX);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}${name}.webp`, webp);
}

const withFour = test.extend({
  cluster: async ({}, use) => {
    const cluster = await Cluster.start();
    await use(cluster);
    await cluster.stop();
  },
});

withFour('of a cluster with four nodes', async ({ cluster, page, signIn }) => {
  const world = await fill(cluster);
  await signIn('user', `/jobs/${world.training}`);
  await expect(page.locator('[data-part=theirs]')).toBeVisible();
  await expect(page.locator('[data-part=rate]')).toContainText('steps/s');
  await picture(page, 'job');
  await page.setViewportSize(PHONE);
  await picture(page, 'job-phone');
  await page.setViewportSize(DESK);
  await setTheme(page, 'dark');
  await page.goto(`/jobs/${world.failed}/logs`);
  await expect(page.getByText('First traceback')).toBeVisible();
  await picture(page, 'logs-dark');
  await setTheme(page, 'light');
  await page.goto('/usage?by=user');
  await expect(page.locator('[data-part=sum]')).toBeVisible();
  await picture(page, 'usage');
  await page.goto('/submit');
  const yaml = `name: eval-release\nrun: python3 eval.py\nworkdir: /srv/eval\nnodes: 3\npriority: high\n`;
  await page.getByLabel('The same as YAML').fill(yaml);
  await expect(page.getByRole('region', { name: 'What it would come to now' }).getByRole('table')).toBeVisible();
  await picture(page, 'submit');

  const { nodes } = await cluster.json<{ nodes: { name: string; cordon: object | null }[] }>(['nodes']);
  await signIn('operator', `/nodes/${nodes.find(({ cordon }) => cordon)?.name}/`);
  await expect(page.locator('[data-part=state]')).toContainText('a fan that rattles');
  await expect(page.getByRole('grid', { name: 'What happened' })).toBeVisible();
  await picture(page, 'node');
  await page.goto('/scheduler');
  await expect(page.getByRole('grid', { name: /Waits by size/ })).toBeVisible();
  await expect(page.getByRole('grid', { name: /Waits by class/ })).toBeVisible();
  await picture(page, 'scheduler');
  await page.goto('/admin?tab=quota');
  await expect(page.getByRole('grid')).toBeVisible();
  await picture(page, 'admin');
});

const withMany = test.extend<{ filled: Awaited<ReturnType<typeof fillMany>> }>({
  cluster: async ({}, use) => {
    const cluster = await Cluster.start({ insecure: true, nodes: {} });
    await use(cluster);
    await cluster.stop();
  },
  filled: async ({ cluster }, use) => {
    const filled = await fillMany(cluster);
    await use(filled);
    filled.agents.stop();
  },
});

withMany('of a cluster with many nodes', async ({ page, filled: { waits } }) => {
  await page.goto('/cluster');
  await expect(page.locator(`canvas[data-tiles="${SIMULATED}"]`)).toBeVisible();
  await expect(page.locator('[data-part=out]')).toContainText('silent');
  await picture(page, 'cluster');
  await setTheme(page, 'dark');
  await page.goto('/cluster?by=user');
  await expect(page.locator('[data-legend="user:kim"]')).toBeVisible();
  await picture(page, 'cluster-dark');
  await setTheme(page, 'light');
  await page.goto(`/queue?job=${waits}`);
  await expect(page.locator('[data-part=ahead]')).toBeVisible();
  await picture(page, 'queue');
  await setLanguage(page, 'zh');
  await expect(page.locator('[data-part=ahead]')).toBeVisible();
  await picture(page, 'queue-zh');
});

test.afterAll(() => {
  const sizes = readdirSync(FOLDER).map((name) => statSync(FOLDER + name).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(ALL_MAX);
});
