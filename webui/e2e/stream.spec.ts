import { expect, REFUSED, test, UNREACHABLE } from './harness/fixtures';

const sign = '[data-stream]';

test('seven tabs share one stream', async ({ cluster, context, page, signIn }) => {
  const streams = () => cluster.metric('glim_calls_held', 'bound="streams"');
  const before = await streams();
  await signIn('user', '/queue');
  const tabs = [page];
  for (let count = 1; count < 7; count++) {
    const tab = await context.newPage();
    await tab.goto('/queue');
    tabs.push(tab);
  }
  const id = await cluster.submit({ name: 'job-seven' });
  for (const tab of tabs) await expect(tab.locator(`[data-key="${id}"]`)).toBeVisible();
  expect((await streams()) - before).toBe(1);
  // A tab that goes takes nothing from the others.
  await tabs[0]?.close();
  await cluster.text(['cancel', String(id)], { user: 'kim' });
  await expect(tabs[6]!.locator(`[data-key="${id}"]`)).toHaveCount(0);
});

test('@main the leader goes and comes back: the page says so, and nothing is lost', async ({
  cluster,
  page,
  signIn,
  watch,
}) => {
  const kept = await cluster.submit({ name: 'job-kept' });
  await signIn('user', '/queue');
  await expect(page.locator(`[data-key="${kept}"]`)).toContainText('running');
  watch.allow(REFUSED);
  watch.allow(UNREACHABLE);
  await cluster.ask('stop_leader', { kill: true });
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'lost');
  await expect(page.locator('[data-banner=lost]')).toBeVisible();
  await expect(page.locator(`[data-key="${kept}"]`)).toBeVisible();
  await cluster.ask('start_leader');
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  await expect(page.locator('[data-banner]')).toHaveCount(0);
  const next = await cluster.submit({ name: 'job-next' });
  await expect(page.locator(`[data-key="${next}"]`)).toContainText(/starting|running/);
  await expect(page.locator(`[data-key="${kept}"]`)).toHaveCount(1);
});
