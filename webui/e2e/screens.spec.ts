// What pages look like in each of their states, held against kept pictures. These are a quarter as wide and high, so
// that other fonts and other digits make no difference, and of what is drawn a part may differ; a page that is blank,
// has lost a part or has one in another place differs by more. `--update-snapshots` keeps new ones: look at them first,
// in full size below e2e/.out.
import type { Page } from '@playwright/test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Cluster } from './harness/cluster';
import { expect, REFUSED, test as base, UNREACHABLE } from './harness/fixtures';
import { Images } from './harness/image';
import { fill, type World } from './harness/world';

const SMALLER = 4;
const MAY_DIFFER = 0.4;
const INK_MIN = 0.0003; // less than the words of an empty page is nothing

interface Options {
  whole?: boolean; // with the header and the navigation
  mayDiffer?: number; // of what is drawn
}

let mine: Cluster | null = null;
let world: World;
const test = base.extend<{ looks: (name: string, options?: Options) => Promise<void> }>({
  cluster: async ({}, use) => use((mine ??= await Cluster.start())),
  looks: async ({ browser, page }, use, info) => {
    const images = await Images.of(browser);
    await use(async (name, { whole = false, mayDiffer = MAY_DIFFER } = {}) => {
      const { full, small } = await settled(images, page, whole);
      writeFileSync(info.outputPath(`${name}.png`), full);
      const path = info.snapshotPath(`${name}.png`);
      const ink = await images.ink(existsSync(path) ? readFileSync(path) : small);
      expect.soft(ink, `${name} shows something`).toBeGreaterThan(INK_MIN);
      expect.soft(small).toMatchSnapshot(`${name}.png`, { threshold: 0.1, maxDiffPixelRatio: mayDiffer * ink });
    });
    await images.close();
  },
});

// A chart whose lines depend on the moment is covered.
async function settled(images: Images, page: Page, whole: boolean): Promise<{ full: Buffer; small: Buffer }> {
  await page.mouse.move(0, 0);
  const main = page.locator('main');
  const from = whole ? null : await main.boundingBox();
  const { width, height } = page.viewportSize()!;
  const clip = from
    ? { x: from.x, y: from.y, width: width - from.x, height: height - from.y }
    : { x: 0, y: 0, width, height };
  for (let turn = 0, before: Buffer | null = null; ; turn++) {
    const mask = [page.locator('[data-part=rate] canvas')];
    const full = await page.screenshot({ clip, mask, maskColor: '#888888', animations: 'disabled' });
    const small = await images.smaller(full, SMALLER);
    if (before?.equals(small) || turn === 5) return { full, small };
    before = small;
  }
}

test.describe.configure({ mode: 'serial' });
test.afterAll(() => mine?.stop());

test('who is not signed in', async ({ page, looks, watch }) => {
  watch.allow(REFUSED);
  await page.goto('/queue');
  await expect(page.getByRole('heading', { name: 'Sign in to Glim' })).toBeVisible();
  await looks('sign-in', { whole: true });
});

test('nothing there, or no right to see it', async ({ page, signIn, looks, watch }) => {
  await signIn('viewer', '/queue');
  await expect(page.getByText('Nothing runs and nothing waits.')).toBeVisible();
  await looks('queue-empty');
  await page.goto('/usage');
  await expect(page.getByText('No job ended in that time.')).toBeVisible();
  await looks('usage-empty');
  await page.goto('/submit');
  await expect(page.getByText('You have no right to see this.')).toBeVisible();
  await looks('no-permission');
  watch.allow(REFUSED);
  await page.goto('/jobs/4711');
  await expect(page.getByText('There is no job 4711.')).toBeVisible();
  await looks('job-none');
  await page.goto('/nodes/nowhere/');
  await expect(page.getByText('There is no node nowhere.')).toBeVisible();
  await looks('node-none');
});

test('not there yet', async ({ cluster, page, signIn, looks, watch }) => {
  await signIn('viewer', '/queue');
  await expect(page.getByText('Nothing runs and nothing waits.')).toBeVisible();
  watch.allow(UNREACHABLE);
  await cluster.ask('freeze_leader', { frozen: true });
  try {
    await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click();
    await expect(page.locator('main').getByRole('status')).toBeVisible();
    await looks('loading');
  } finally {
    await cluster.ask('freeze_leader', { frozen: false });
  }
  await expect(page.getByText('No job ended in that time.')).toBeVisible();
});

test('pages of jobs', async ({ cluster, page, signIn, looks }) => {
  world = await fill(cluster);
  await signIn('user', `/queue?job=${world.waits}`);
  await expect(page.locator('[data-part=ahead]')).toBeVisible();
  await looks('queue');
  await page.goto(`/jobs/${world.waits}`);
  await expect(page.locator('[data-part=ahead]')).toBeVisible();
  await looks('job-waits');
  await page.goto(`/jobs/${world.training}`);
  await expect(page.locator('[data-part=theirs]')).toBeVisible();
  await expect(page.locator('[data-part=rate]')).toContainText('steps/s');
  await looks('job', { mayDiffer: 0.6 }); // its bars are as long as things took
  await page.goto(`/jobs/${world.failed}/logs`);
  await expect(page.getByText('First traceback')).toBeVisible();
  await expect(page.locator('[data-mark=ended]')).toBeVisible();
  const log = page.getByRole('region', { name: 'Log of rank 0' });
  await log.evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await looks('logs');
  await page.goto('/submit');
  const yaml = `name: eval-release\nrun: python3 eval.py\nworkdir: ${cluster.info.jobs}\nnodes: 3\npriority: high\n`;
  await page.getByLabel('The same as YAML').fill(yaml);
  await expect(page.getByRole('region', { name: 'What it would come to now' }).getByRole('table')).toBeVisible();
  await looks('submit');
});

test('pages of nodes and of use', async ({ cluster, page, signIn, looks }) => {
  await signIn('viewer', '/cluster');
  await expect(page.locator('canvas[data-tiles="4"]')).toBeVisible();
  await expect(page.locator('[data-part=out]')).toContainText('a fan that rattles');
  await looks('cluster');
  await page.goto('/cluster?view=table');
  await expect(page.getByRole('grid', { name: 'Cluster' }).getByRole('row')).toHaveCount(5);
  await looks('cluster-table');
  const { nodes } = await cluster.json<{ nodes: { name: string; cordon: object | null }[] }>(['nodes']);
  await page.goto(`/nodes/${nodes.find(({ cordon }) => cordon)?.name}/`);
  await expect(page.getByRole('grid', { name: 'What happened' })).toBeVisible();
  // Of this machine, and another elsewhere.
  await page.locator('[data-part=hardware]').evaluate((part) => (part.style.display = 'none'));
  await looks('node');
  await page.goto('/usage?by=user');
  await expect(page.locator('[data-part=sum]')).toBeVisible();
  await looks('usage');
  for (const tab of ['running', 'ledger', 'quotas']) {
    await page.goto(`/usage?tab=${tab}`);
    await expect(page.getByRole('tabpanel').getByRole('grid').first()).toBeVisible();
    await looks(`usage-${tab}`);
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto('/queue');
  await expect(page.locator(`[data-key="${world.waits}"]`)).toBeVisible();
  await looks('queue-dark');
  await page.setViewportSize({ width: 390, height: 780 });
  await looks('queue-phone', { whole: true });
});

test('pages of operators', async ({ page, signIn, looks }) => {
  await signIn('operator', '/scheduler');
  await expect(page.getByRole('grid', { name: /Waits by size/ })).toBeVisible();
  await expect(page.getByRole('grid', { name: /Waits by class/ })).toBeVisible();
  await looks('scheduler');
  for (const tab of ['user', 'quota', 'token', 'link', 'policy', 'audit']) {
    await page.goto(`/admin?tab=${tab}`);
    await expect(page.getByRole('tabpanel').locator('[role=grid], pre').first()).toBeVisible();
    await looks(`admin-${tab}`);
  }
});
