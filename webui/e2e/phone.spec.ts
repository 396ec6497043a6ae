// A phone: fingers on the map and in menus, and no page is wider than the screen.
import type { CDPSession, Page } from '@playwright/test';
import { Cluster } from './harness/cluster';
import { expect, expectNoAxeViolations, test } from './harness/fixtures';
import { SimAgents } from './harness/simAgents';

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 });

type Spot = [x: number, y: number];

// Fingers go down at the first spots, move through the others and are lifted.
async function drag(page: Page, moves: Spot[][]): Promise<void> {
  const session: CDPSession = await page.context().newCDPSession(page);
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', spots: Spot[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints: spots.map(([x, y], id) => ({ x, y, id })) });
  await send('touchStart', moves[0] ?? []);
  for (const spots of moves.slice(1)) await send('touchMove', spots);
  await send('touchEnd', []);
  await session.detach();
}

// What is drawn, as a number that other pictures do not have.
function picture(page: Page): Promise<number> {
  return page.locator('canvas[data-tiles]').evaluate((canvas: HTMLCanvasElement) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum = (sum * 31 + data[at]! + data[at + 1]! * 3) % 1_000_000_007;
    return sum;
  });
}

// What it comes to: the same twice.
async function settled(page: Page): Promise<number> {
  let last = -1;
  await expect
    .poll(async () => {
      const before = last;
      last = await picture(page);
      return last === before;
    })
    .toBe(true);
  return last;
}

test('a finger moves the map, two zoom it, a tap tells of a node and leads to it', async ({ page }) => {
  const many = await Cluster.start({ insecure: true, nodes: {} });
  const agents = await SimAgents.start(many, { nodes: 160 });
  try {
    const id = await many.submit({ name: 'job-touched', nodes: 160, user: 'anonymous' });
    await page.goto(`${many.url}/cluster`);
    await expect(page.locator('canvas[data-tiles="160"]')).toBeVisible();
    await expect(page.locator('[data-legend="state:running"]')).toContainText('160');
    const map = page.locator('[data-part=map]');
    await map.scrollIntoViewIfNeeded();
    const box = (await map.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const steps = Array.from({ length: 8 }, (_, at) => at);
    const whole = await settled(page);

    const apart = (at: number): Spot[] => [
      [x - 10 - 8 * at, y],
      [x + 10 + 8 * at, y],
    ];
    await drag(page, steps.map(apart));
    await expect.poll(() => picture(page)).not.toBe(whole);
    const near = await picture(page);
    await drag(
      page,
      steps.map((at): Spot[] => [[x - 12 * at, y - 8 * at]]),
    );
    await expect.poll(() => picture(page)).not.toBe(near);
    // A browser may take the first tap behind a swift drag as the drag's end.
    await expect(async () => {
      await page.getByRole('button', { name: 'Show everything' }).tap();
      await expect.poll(() => picture(page), { timeout: 2_000 }).toBe(whole);
    }).toPass();

    const card = page.locator('[data-part=card]');
    for (let at = 20; at < box.width && !(await card.textContent())?.includes('job-touched'); at += 13) {
      await page.touchscreen.tap(box.x + at, y);
    }
    await expect(card).toContainText('job-touched');
    await card.getByRole('link', { name: String(id), exact: true }).tap();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('job-touched');
  } finally {
    await page.close();
    agents.stop();
    await many.stop();
  }
});

test('menus, explanations, the palette and dialogs are used by touch', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-tapped' });
  await signIn('user', `/jobs/${id}`);
  await page.getByRole('button', { name: 'Settings of kim' }).tap();
  await page.getByRole('menuitemradio', { name: 'Dark' }).tap();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await expect(page.getByRole('menu')).toHaveCount(0);
  await page.locator('dl').getByRole('button').first().tap();
  await expect(page.getByRole('note')).toContainText(`glim status ${id}`);
  const note = (await page.getByRole('note').boundingBox())!;
  expect(note.x).toBeGreaterThanOrEqual(0);
  expect(note.x + note.width).toBeLessThanOrEqual(390);
  await page.getByRole('heading', { level: 1 }).tap();
  await expect(page.getByRole('note')).toHaveCount(0);
  await page.getByRole('button', { name: 'Cancel', exact: true }).tap();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel', exact: true })).toBeEnabled();
  await expectNoAxeViolations(page);
  await dialog.getByRole('button', { name: 'Close' }).tap();
  await page.getByRole('button', { name: 'Go to…' }).tap();
  await page.getByRole('combobox').fill('queue');
  await page.getByRole('option', { name: 'Queue' }).tap();
  await expect(page.getByRole('heading', { name: 'Queue' })).toBeVisible();
});

const PATHS = ['/cluster', '/queue', '/submit', '/usage', '/scheduler', '/nodes/n1/', '/jobs/ID', '/jobs/ID/logs'];
const TABS = ['user', 'team', 'quota', 'token', 'reservation', 'pool', 'zone', 'link', 'policy', 'audit'];

test('no page is wider than the screen', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-with-a-name-that-is-rather-long-for-a-phone', nodes: 2 });
  await signIn('operator', '/cluster');
  const paths = [...PATHS.map((path) => path.replace('ID', String(id))), ...TABS.map((tab) => `/admin?tab=${tab}`)];
  const wide: string[] = [];
  for (const path of paths) {
    await page.goto(path);
    await expect(page.locator('h1')).toBeVisible();
    await expect(page.locator('main [role=status]').filter({ hasText: 'Loading' })).toHaveCount(0);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) wide.push(`${path}: ${width}`);
  }
  expect(wide).toEqual([]);
});
