// How soon a page shows what it is opened for, in a browser that has nothing of it yet.
import { test, type Browser } from '@playwright/test';
import { submitMany, withNodes } from './cluster';
import { below, numberOf, percentile, tell } from './figures';

const NODES = numberOf('GLIM_BENCH_PAINT_NODES', 1_250);
const JOBS = numberOf('GLIM_BENCH_JOBS', 10_000);
const TIMES = 7;
const AIM_MS = 1_000;

// From the beginning of the navigation to the first frame after what is waited for has come.
async function openOnce(browser: Browser, url: string, wanted: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript((selector) => {
    const look = () => {
      if (!document.querySelector(selector)) return requestAnimationFrame(look);
      return requestAnimationFrame(() => ((window as { glimShown?: number }).glimShown = performance.now()));
    };
    requestAnimationFrame(look);
  }, wanted);
  await page.goto(url);
  await page.waitForFunction(() => 'glimShown' in window, undefined, { timeout: 60_000 });
  const took = await page.evaluate(() => (window as { glimShown?: number }).glimShown ?? NaN);
  await context.close();
  return took;
}

test('first useful paint', async ({ browser }) => {
  await withNodes({ nodes: NODES }, async (cluster) => {
    await submitMany(cluster, JOBS);
    for (const [page, wanted] of [
      ['cluster', `canvas[data-tiles="${NODES}"]`],
      ['queue', '[role=row][data-key]'],
    ] as const) {
      await openOnce(browser, `${cluster.url}/${page}`, wanted); // the browser's own start
      const took: number[] = [];
      for (let time = 0; time < TIMES; time++) took.push(await openOnce(browser, `${cluster.url}/${page}`, wanted));
      const half = percentile(took, 0.5);
      const more = { worst_ms: Math.round(Math.max(...took)), nodes: NODES, jobs: JOBS };
      tell(`web_paint_${page}_p50`, half, 'ms', took.length, { ...below(half, AIM_MS), ...more });
    }
  });
});
