// A log of five million lines: opened at its end, and a word searched in all of it.
import { expect, test, type Page } from '@playwright/test';
import { Cluster } from '../harness/cluster';
import { below, numberOf, percentile, tell } from './figures';

const LINES = numberOf('GLIM_BENCH_LINES', 5_000_000);
const TIMES = 7;
const AIM_OPEN_MS = 1_000;
const AIM_SEARCH_MS = 2_000;
const LINE = '2026-11-23T12:00:00Z INFO step %.0f loss 2.1375 lr 0.0003 tokens/s 81231';

// Milliseconds of the page's own clock at which `selector` shows `text`: since it was navigated to.
async function shownAt(page: Page, selector: string, text: string): Promise<number> {
  const found = await page.waitForFunction(
    ([where, what]) => {
      const all = [...document.querySelectorAll(where ?? '')];
      return all.some((one) => one.textContent?.includes(what ?? '')) && performance.now();
    },
    [selector, text],
    { timeout: 60_000, polling: 'raf' },
  );
  return Number(await found.jsonValue());
}

async function open(page: Page, path: string): Promise<number[]> {
  const took: number[] = [];
  for (let time = 0; time <= TIMES; time++) {
    await page.goto(path);
    took.push(await shownAt(page, '[data-offset]', `step ${LINES} `));
    await page.goto('about:blank');
  }
  return took.slice(1); // the first fills the browser's cache
}

async function search(page: Page, path: string): Promise<number[]> {
  const took: number[] = [];
  await page.goto(path);
  for (let time = 0; time < TIMES; time++) {
    const word = `step ${LINES - 10 * time - 1} `; // near the end: all of it is read
    await page.getByRole('searchbox').fill(word);
    const began = await page.evaluate(() => performance.now());
    await page.keyboard.press('Enter');
    took.push((await shownAt(page, '[data-part=results] [role=gridcell]', word)) - began);
  }
  return took;
}

test('a long log', async ({ page }) => {
  const cluster = await Cluster.start({ nodes: { n1: ['A', 'a1'] }, agentOptions: ['--log-file-bytes=2GiB'] });
  try {
    const run = `seq -f '${LINE}' 1 ${LINES}; exec sleep 3600`;
    const id = await cluster.submit({ name: 'long', run });
    const path = `${cluster.url}/jobs/${id}/logs`;
    await page.goto(await cluster.code('user'));
    await expect(page.getByRole('navigation')).toBeVisible();
    await page.goto(path);
    await expect(page.locator('[data-offset]').last()).toContainText(`step ${LINES} `, { timeout: 600_000 });
    const opened = await open(page, path);
    const p95 = percentile(opened, 0.95);
    tell('web_log_open_end_p95', p95, 'ms', TIMES, { ...below(p95, AIM_OPEN_MS), lines: LINES });
    const searched = await search(page, path);
    const all = percentile(searched, 0.95);
    tell('web_log_search_p95', all, 'ms', TIMES, { ...below(all, AIM_SEARCH_MS), lines: LINES });
    await page.goto('about:blank');
  } finally {
    await cluster.stop();
  }
});
