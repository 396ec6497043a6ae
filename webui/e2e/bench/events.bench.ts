// From what happens in the scheduler to the pixel: an operator cordons a node, and its tile on the map is another one.
import { expect, test, type Page } from '@playwright/test';
import { simName } from '../harness/simAgents';
import { post, withNodes } from './cluster';
import { below, numberOf, percentile, tell } from './figures';

const NODES = numberOf('GLIM_BENCH_PAINT_NODES', 1_250);
const TIMES = numberOf('GLIM_BENCH_EVENTS', 100);
const AIM_MS = 600;
const PATIENCE_MS = 10_000;

// Notes when the map's pixels changed last, looking at them in each frame.
async function watchPixels(page: Page): Promise<void> {
  await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('canvas[data-tiles]')!;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    let before = 0;
    const look = () => {
      copy.drawImage(canvas, 0, 0);
      const pixels = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      let sum = 0;
      for (let at = 0; at < pixels.length; at++) sum = (Math.imul(sum, 31) + pixels[at]!) | 0;
      if (sum !== before) (window as { glimChanged?: number }).glimChanged = Date.now();
      before = sum;
      requestAnimationFrame(look);
    };
    look();
  });
}

async function changedAfter(page: Page, since: number): Promise<number> {
  const changed = await page.waitForFunction(
    (after) => {
      const at = (window as { glimChanged?: number }).glimChanged ?? 0;
      return at >= after ? at : 0;
    },
    since,
    { timeout: PATIENCE_MS },
  );
  return changed.jsonValue();
}

test('event to pixel', async ({ page }) => {
  await withNodes({ nodes: NODES }, async (cluster) => {
    await page.goto(`${cluster.url}/cluster`);
    await expect(page.locator(`canvas[data-tiles="${NODES}"]`)).toBeVisible({ timeout: 60_000 });
    await page.waitForTimeout(3_000);
    await watchPixels(page);
    const took: number[] = [];
    for (let time = 0; time < TIMES; time++) {
      const path = `/v1/nodes/${simName(1 + ((time * 37) % NODES))}`;
      await page.waitForTimeout(100 + Math.random() * 300);
      const cordoned = await post<{ node: { cordon: { since_ms: number } } }>(cluster, `${path}/cordon`, {
        reason: 'x',
      });
      const since = cordoned.node.cordon.since_ms;
      took.push((await changedAfter(page, since)) - since);
      await page.waitForTimeout(300);
      const asked = Date.now();
      await post(cluster, `${path}/uncordon`, {});
      await changedAfter(page, asked);
    }
    const p99 = percentile(took, 0.99);
    tell('web_event_to_pixel_p99', p99, 'ms', took.length, { ...below(p99, AIM_MS), nodes: NODES });
    tell('web_event_to_pixel_p50', percentile(took, 0.5), 'ms', took.length);
  });
});
