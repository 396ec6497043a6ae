// The map of 10,000 nodes: what a frame costs the main thread while the mouse hovers and pans.
import { expect, test, type Page } from '@playwright/test';
import type { Cluster } from '../harness/cluster';
import { withNodes } from './cluster';
import { below, numberOf, percentile, tell } from './figures';
import { framesOf, type Frames } from './trace';

const NODES = numberOf('GLIM_BENCH_NODES', 10_000);
const MOVES = 400;
const AIM_BUSY_MS = 8;
const AIM_INTERVAL_MS = 34;

async function fill(cluster: Cluster): Promise<void> {
  for (let at = 0; at < 60; at++) {
    const nodes = Math.max(1, Math.floor((NODES * 0.8 * (1 + (at % 7))) / (60 * 4)));
    await cluster.submit({ name: `train-${at}`, nodes, user: `user${at % 12}` });
  }
}

function told(what: string, { busyMs, cpuMs, intervalMs }: Frames): void {
  const busy = percentile(busyMs, 0.95);
  const interval = percentile(intervalMs, 0.95);
  const more = { nodes: NODES, cpu_p95_ms: Math.round(percentile(cpuMs, 0.95) * 100) / 100 };
  tell(`web_map_${what}_main_thread_p95`, busy, 'ms', busyMs.length, { ...below(busy, AIM_BUSY_MS), ...more });
  tell(`web_map_${what}_interval_p95`, interval, 'ms', intervalMs.length, { ...below(interval, AIM_INTERVAL_MS) });
}

async function hover(page: Page, box: { x: number; y: number; width: number; height: number }): Promise<void> {
  for (let at = 0; at < MOVES; at++) {
    const turn = (at / MOVES) * 14 * Math.PI;
    const reach = 0.1 + (0.38 * at) / MOVES;
    await page.mouse.move(
      box.x + box.width * (0.5 + reach * Math.cos(turn)),
      box.y + box.height * (0.5 + reach * Math.sin(turn)),
    );
  }
}

async function pan(page: Page, box: { x: number; y: number; width: number; height: number }): Promise<void> {
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let at = 0; at < MOVES; at++) {
    const turn = (at / MOVES) * 8 * Math.PI;
    await page.mouse.move(x + 0.4 * box.width * Math.sin(turn), y + 0.4 * box.height * Math.sin(turn * 1.3));
  }
  await page.mouse.up();
}

test('the map', async ({ browser, page }) => {
  await withNodes({ nodes: NODES, leaves: 25 }, async (cluster) => {
    await fill(cluster);
    await page.goto(`${cluster.url}/cluster`);
    await expect(page.locator(`canvas[data-tiles="${NODES}"]`)).toBeVisible({ timeout: 60_000 });
    await page.waitForTimeout(3_000);
    const box = (await page.locator('[data-part=map]').boundingBox())!;
    told('hover', await framesOf(browser, page, () => hover(page, box)));
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    for (const zoom of ['near', 'close']) {
      for (let at = 0; at < 4; at++) await page.mouse.wheel(0, -250);
      await page.waitForTimeout(500);
      told(`pan_${zoom}`, await framesOf(browser, page, () => pan(page, box)));
    }
  });
});
