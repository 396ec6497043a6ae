import type { Page } from '@playwright/test';
import { expect, expectGoodPage, REFUSED, test, UNREACHABLE } from './harness/fixtures';

const NAMES = /kim|vera|oscar|job-\w+|default|Glim|GPU|CEST?|Ctrl|MiB|KiB/;
const LONG = 'seq -f "line %.0f of many, with some words behind it" 1 200000; exec sleep 600';

const pane = (page: Page, rank = 0) => page.getByRole('region', { name: `Log of rank ${rank}` });

test('opens a long log at its end, goes to its beginning and to any place between', async ({
  cluster,
  page,
  signIn,
}) => {
  const id = await cluster.submit({ name: 'job-long', run: LONG });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText('line 200000 of many');
  await expect(pane(page)).not.toContainText('line 1 of many');
  await pane(page).focus();
  await page.keyboard.press('Home');
  await expect(pane(page)).toContainText('line 1 of many');
  await expect(pane(page).locator('[data-mark=began]')).toContainText('Attempt 1 began');
  await page.getByRole('slider').fill('500');
  await expect(pane(page)).toContainText(/line (9|10)\d{4} of many/);
  await page.keyboard.press('Tab');
  await pane(page).focus();
  await page.keyboard.press('End');
  await expect(pane(page)).toContainText('line 200000 of many');
});

test('scrolling up and down reads on without a gap', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-scroll', run: LONG });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText('line 200000 of many');
  const seen = async () => {
    const texts = await pane(page).locator('[data-offset]').allInnerTexts();
    return texts.map((text) => Number(/line (\d+)/.exec(text)?.[1]));
  };
  let least = 200_000;
  for (let turn = 0; turn < 60 && least > 180_000; turn++) {
    await pane(page).evaluate((box) => box.scrollBy(0, -20_000));
    await page.waitForTimeout(50);
    const numbers = await seen();
    numbers.forEach((number, at) => expect(number).toBe((numbers[0] ?? 0) + at));
    least = Math.min(least, ...numbers);
  }
  expect(least).toBeLessThanOrEqual(180_000);
});

test('follows what is written, ranks beside each other', async ({ cluster, page, signIn }) => {
  const run = 'for i in $(seq 1 600); do echo "of $GLIM_RANK: $i"; sleep 0.2; done';
  const id = await cluster.submit({ name: 'job-follow', run, nodes: 2 });
  await signIn('user', `/jobs/${id}/logs?ranks=0,1`);
  await expect(pane(page, 0)).toContainText('of 0: 5');
  await expect(pane(page, 1)).toContainText('of 1: 9');
  await expect(pane(page, 0).locator('[data-offset]').last()).toBeInViewport();
  await page.getByRole('button', { name: 'Close rank 1' }).click();
  await expect(pane(page, 1)).toHaveCount(0);
  expect(page.url()).toContain('ranks=0');
});

test('the leader goes and comes back: what was written meanwhile is there, once', async ({
  cluster,
  page,
  signIn,
  watch,
}) => {
  const run = 'for i in $(seq 1 600); do echo "number $i"; sleep 0.2; done';
  const id = await cluster.submit({ name: 'job-absence', run });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText('number 3');
  watch.allow(REFUSED);
  watch.allow(UNREACHABLE);
  await cluster.ask('stop_leader', { kill: true });
  await expect(page.locator('[data-stream]')).toHaveAttribute('data-stream', 'lost');
  await cluster.ask('start_leader');
  await expect(page.locator('[data-stream]')).toHaveAttribute('data-stream', 'live');
  const numbers = async () =>
    (await pane(page).locator('[data-offset]').allInnerTexts()).map((text) => Number(text.replace('number ', '')));
  const before = (await numbers()).length;
  await expect.poll(async () => (await numbers()).length).toBeGreaterThan(before + 5);
  (await numbers()).forEach((number, at, all) => expect(number).toBe((all[0] ?? 0) + at));
});

test('attempts are joined, with marks of the interrupt and of the next one', async ({ cluster, page, signIn }) => {
  const run = 'echo "here is attempt $GLIM_ATTEMPT"; trap "echo asked to leave; exit 0" TERM; sleep 600 & wait';
  const id = await cluster.submit({ name: 'job-twice', run, nodes: 4, priority: 'low' });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText('here is attempt 1');
  const urgent = await cluster.submit({ name: 'job-urgent', user: 'lee', nodes: 4, run: 'sleep 1', priority: 'high' });
  await expect(pane(page).locator('[data-mark=ended]')).toContainText('Attempt 1 interrupted');
  await expect(pane(page).locator('[data-mark=ended]')).toContainText(`job-urgent`);
  await expect(pane(page)).toContainText('here is attempt 2');
  await expect(pane(page).locator('[data-mark=began]').last()).toContainText('Attempt 2');
  await page.reload();
  await expect(pane(page)).toContainText('here is attempt 2');
  await expect(pane(page)).toContainText('here is attempt 1');
  expect(urgent).toBeGreaterThan(id);
});

test('what a log says is text: scripts, colours, escapes', async ({ cluster, page, signIn }) => {
  const words = '<script>window.broken=1</script><img src=x onerror=window.broken=1>';
  const escapes = '\\033[31mred\\033[0m \\033]0;title\\007plain \\033[2J\\033[5;5Hend\\n';
  const run = `printf '%s\\n' '${words}'; printf '${escapes}'; exec sleep 600`;
  const id = await cluster.submit({ name: 'job-script', run });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText(words);
  await expect(pane(page)).toContainText('red plain end');
  await expect(pane(page).getByText('red', { exact: true })).toHaveCSS('color', 'rgb(179, 38, 30)');
  expect(await page.evaluate(() => 'broken' in window)).toBe(false);
});

test('@main a word is found where it is, in any rank, and the line is gone to', async ({ cluster, page, signIn }) => {
  const run = 'seq -f "line %.0f of $GLIM_RANK" 1 100000; exec sleep 600';
  const id = await cluster.submit({ name: 'job-search', run, nodes: 2 });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(pane(page)).toContainText('line 100000 of 0');
  await page.getByRole('searchbox').fill('LINE 7777 of');
  await page.getByLabel('Any case').check();
  await page.keyboard.press('Enter');
  await page.getByRole('searchbox').press('Enter');
  const results = page.getByRole('grid', { name: 'Lines that hold the word' });
  await expect(results.getByRole('row')).toHaveCount(3);
  await results.getByRole('row').nth(2).focus();
  await page.keyboard.press('Enter');
  await expect(pane(page, 1).locator('mark')).toHaveText('line 7777 of');
  await expect(pane(page, 1).locator('mark')).toBeInViewport();
  await page.reload();
  await expect(pane(page, 1)).toContainText('line 7776 of 1');
});

test('the first traceback of a failed job is found and shown', async ({ cluster, page, signIn }) => {
  const run = `seq 1 50000; python3 -c 'raise ValueError("no such <b>thing</b>")'`;
  const id = await cluster.submit({ name: 'job-raises', run });
  await signIn('user', `/jobs/${id}/logs`);
  await expect(page.getByText('First traceback')).toBeVisible();
  await expect(page.getByText('ValueError: no such <b>thing</b>').first()).toBeVisible();
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(pane(page).getByText('Traceback (most recent call last)')).toBeInViewport();
  await expect(pane(page).locator('[data-mark=ended]')).toContainText('failed');
});

test('who may not read the log is told so', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-private', run: 'echo secret; exec sleep 600' });
  await signIn('viewer', `/jobs/${id}/logs`);
  await expect(page.getByText('Logs are for')).toBeVisible();
});

test('is good to look at for everybody', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-good', run: 'seq 1 1000; exec sleep 600', nodes: 2 });
  await signIn('operator', `/jobs/${id}/logs?ranks=0,1`);
  await expect(pane(page, 1)).toContainText('1000');
  await expectGoodPage(page, NAMES);
});
