import type { Page } from '@playwright/test';
import { expect, expectGoodPage, expectNoAxeViolations, test } from './harness/fixtures';

const NAMES = /kim|lee|vera|oscar|map-\w+|default|Glim|GPU|CEST?|Ctrl|Shift/;

const legend = (page: Page, key: string) => page.locator(`[data-legend="${key}"]`);
const painted = (page: Page) => expect(page.locator('canvas[data-tiles="4"]')).toBeVisible();

// A tile's middle, found by moving from node to node: keys tell which one it is.
async function focusNode(page: Page, name: string): Promise<void> {
  await page.locator('[data-part=map]').focus();
  await page.keyboard.press('Home');
  for (let step = 0; step < 4; step++) {
    if ((await page.locator('[data-part=card]').textContent())?.includes(name)) return;
    await page.keyboard.press('ArrowRight');
  }
  throw new Error(`${name} is not on the map`);
}

// What of the map has another colour than its background.
function inkOf(page: Page): Promise<number> {
  return page.locator('canvas[data-tiles]').evaluate((canvas: HTMLCanvasElement) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let ink = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at]! + data[at + 1]! + data[at + 2]! < 600) ink++;
    return ink;
  });
}

// Whatever became of a test, the next one finds all nodes in.
test.afterEach(async ({ cluster }) => {
  for (const node of ['n1', 'n2', 'n3', 'n4']) await cluster.glim(['admin', 'node', 'uncordon', node, '-y']);
});

test('@main what happens elsewhere comes onto the map by itself', async ({ cluster, page, signIn }) => {
  await signIn('viewer', '/cluster');
  await painted(page);
  await expect(legend(page, 'state:free')).toContainText('4');
  const empty = await inkOf(page);
  await cluster.submit({ name: 'map-live', nodes: 3 });
  await expect(legend(page, 'state:running')).toContainText('3');
  await expect(legend(page, 'state:free')).toContainText('1');
  await expect.poll(() => inkOf(page)).toBeGreaterThan(1.3 * empty);
  // Three nodes of four are in both zones: the job crosses the link.
  await expect(page.locator('[data-part=link]')).toContainText('map-live');
});

test('a node that is gone changes its tile', async ({ cluster, page, signIn }) => {
  await signIn('operator', '/cluster');
  await painted(page);
  await cluster.ask('kill_agent', { node: 'n2' });
  try {
    await expect(legend(page, 'state:silent').or(legend(page, 'state:lost'))).toBeVisible();
    await focusNode(page, 'n2');
    await expect(page.locator('[data-part=card]')).toContainText(/silent|lost/);
  } finally {
    await cluster.ask('start_agent', { node: 'n2' });
  }
  await expect(legend(page, 'state:free')).toContainText('4');
});

test('arrow keys go from node to node, Enter opens one', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'map-keys', nodes: 1 });
  await signIn('user', '/cluster');
  await painted(page);
  await expect(legend(page, 'state:running')).toBeVisible();
  await focusNode(page, 'map-keys');
  await expect(page.locator('[data-part=card]')).toContainText(String(id));
  await page.keyboard.press('+');
  await page.keyboard.press('0');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Node n');
  await page.goBack();
  await painted(page);
});

test('the mouse points at a node, zooms and moves the map', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'map-mouse', nodes: 4 });
  await signIn('user', '/cluster?by=job');
  await painted(page);
  await expect(page.locator('[data-legend^="job:"]')).toContainText('map-mouse');
  const box = (await page.locator('[data-part=map]').boundingBox())!;
  const card = page.locator('[data-part=card]');
  const scan = async () => {
    for (let x = 20; x < box.width; x += 30) {
      await page.mouse.move(box.x + x, box.y + 90);
      if ((await card.textContent())?.includes('map-mouse')) return x;
    }
    return 0;
  };
  const x = await scan();
  expect(x).toBeGreaterThan(0);
  const before = await inkOf(page);
  await page.mouse.wheel(0, -600);
  await expect.poll(() => inkOf(page)).not.toBe(before);
  await page.mouse.down();
  await page.mouse.move(box.x + x + 60, box.y + 120, { steps: 4 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.mouse.move(box.x + x, box.y + 90);
  await expect.poll(() => inkOf(page)).toBe(before);
});

test('filters, colours and the table stand in the address', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'map-kim', nodes: 2 });
  await cluster.submit({ name: 'map-lee', nodes: 1, user: 'lee' });
  await signIn('viewer', '/cluster?by=user&user=lee');
  await painted(page);
  await expect(legend(page, 'user:kim')).toContainText('2');
  await expect(page.locator('[data-part=counts]')).toContainText('1 of 4 nodes');
  await page.getByRole('tab', { name: 'Table' }).click();
  await expect(page.getByRole('grid', { name: 'Cluster' }).getByRole('row')).toHaveCount(2);
  await expect(page.getByRole('grid')).toContainText('lee');
  expect(page.url()).toContain('view=table');
  await page.reload();
  await expect(page.getByRole('grid', { name: 'Cluster' }).getByRole('row')).toHaveCount(2);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(page.getByRole('grid', { name: 'Cluster' }).getByRole('row')).toHaveCount(5);
  await page.locator('[data-key=n3]').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Node n3');
});

test('the past is shown, says how far it goes, and is left again', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'map-past', nodes: 2 });
  await signIn('viewer', '/cluster');
  await expect(legend(page, 'state:running')).toContainText('2');
  const then = Date.now();
  await cluster.text(['cancel', String(id)], { user: 'kim' });
  await expect(legend(page, 'state:free')).toContainText('4');
  await page.goto(`/cluster?by=job&at=${then}`);
  await expect(legend(page, `job:${id}`)).toContainText('map-past');
  await expect(page.locator('[data-part=time]')).toContainText('Rebuilt from the recorded events');
  await page.getByRole('slider').focus();
  for (let step = 0; step < 20; step++) await page.keyboard.press('PageDown');
  await expect(page.locator('[data-part=incomplete]')).toBeVisible();
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect(legend(page, 'state:free')).toContainText('4');
  expect(page.url()).not.toContain('at=');
});

test('who took a node out, why and until when', async ({ cluster, page, signIn }) => {
  await cluster.text(['admin', 'node', 'cordon', 'n4', '--reason', 'map-fan', '--for', '2h', '-y'], { user: 'oscar' });
  await signIn('viewer', '/cluster');
  const taken = page.locator('[data-part=out]');
  await expect(taken).toContainText('map-fan');
  await expect(taken).toContainText('oscar');
  await expect(taken).toContainText('until in');
  await legend(page, 'state:cordoned').getByRole('button').click();
  expect(page.url()).toContain('state=cordoned');
  await cluster.text(['admin', 'node', 'uncordon', 'n4', '-y'], { user: 'oscar' });
  await expect(taken).toHaveCount(0);
});

test('is good to look at for everybody', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'map-good', nodes: 3 });
  await signIn('operator', '/cluster?by=user');
  await painted(page);
  await expect(legend(page, 'user:kim')).toBeVisible();
  await focusNode(page, 'map-good');
  await expectGoodPage(page, NAMES);
  await page.goto('/cluster?view=table');
  await expect(page.getByRole('grid')).toBeVisible();
  await expectGoodPage(page, NAMES);
});

test('reserved nodes are marked on the map, by whom and until when', async ({ cluster, page, signIn }) => {
  await signIn('viewer', '/cluster');
  await painted(page);
  await expect(legend(page, 'state:free')).toContainText('4');
  const before = await inkOf(page);
  await cluster.text(['admin', 'reserve', 'set', 'map-fans', '--node', 'n3', '--for', '1h', '--reason', 'dust', '-y']);
  try {
    const list = page.locator('[data-part=reserved]');
    await expect(list).toContainText('map-fans: for nobody from');
    await expect(list).toContainText('one node');
    await expect.poll(() => inkOf(page)).not.toBe(before);
    await focusNode(page, 'n3');
    await expect(page.locator('[data-part=card]')).toContainText('map-fans: for nobody from');
    await expect(page.locator('[data-part=card]')).toContainText('dust');
    await page.getByRole('tab', { name: 'Table' }).click();
    await expect(page.locator('[data-key=n3]')).toContainText('map-fans');
    await page.getByRole('tab', { name: 'Map' }).click();
    await expectNoAxeViolations(page);
  } finally {
    await cluster.text(['admin', 'reserve', 'rm', 'map-fans', '-y']);
  }
  await expect(page.locator('[data-part=reserved]')).toHaveCount(0);
  await expect.poll(() => inkOf(page)).toBe(before);
});
