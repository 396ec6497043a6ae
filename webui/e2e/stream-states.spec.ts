// What the page says when it cannot know better: the store takes no changes, the scheduler hangs, rights have changed,
// the browser has no shared worker, nothing is wanted.
import { Cluster } from './harness/cluster';
import { expect, expectGoodPage, REFUSED, test, UNREACHABLE } from './harness/fixtures';

const NAMES = /kim|lee|vera|oscar|ada|job-\w+|default|Glim|GPU|CEST?|Ctrl/;
const sign = '[data-stream]';

test('a store that takes no changes: the page says since when and why, and goes on when it does', async ({
  page,
  watch,
}) => {
  const own = await Cluster.start({ smallDisk: true, nodes: { n1: ['A', 'a1'] } });
  try {
    const kept = await own.submit({ name: 'job-kept' });
    await page.goto(await own.code('user'));
    await expect(page.getByRole('navigation')).toBeVisible();
    await page.goto(`${own.url}/queue`);
    await expect(page.locator(`[data-key="${kept}"]`)).toContainText('running');
    await own.ask('fill_disk');
    const refused = await own.glim(['suspend', String(kept)], { user: 'kim' });
    expect(refused.stderr).toContain('STORE_FULL');
    const banner = page.locator('[data-banner=stale]');
    await expect(banner).toContainText('takes no changes');
    await expect(banner.locator('time')).toBeVisible();
    await expect(page.locator(sign)).toHaveAttribute('data-stream', 'stale');
    await expect(page.locator(`[data-key="${kept}"]`)).toBeVisible();
    watch.allow(REFUSED);
    await expectGoodPage(page, NAMES);
    await expect(banner).toBeVisible(); // of a stream that was opened meanwhile as well
    await own.ask('make_room');
    await expect(banner).toHaveCount(0);
    await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  } finally {
    await page.close();
    await own.stop();
  }
});

test('a scheduler that hangs is noticed, though no connection ends', async ({ cluster, page, signIn, watch }) => {
  await signIn('user', '/queue');
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  watch.allow(REFUSED);
  watch.allow(UNREACHABLE);
  await cluster.ask('freeze_leader', { frozen: true });
  try {
    await expect(page.locator(sign)).toHaveAttribute('data-stream', 'lost');
    await expect(page.locator('[data-banner=lost]')).toBeVisible();
  } finally {
    await cluster.ask('freeze_leader', { frozen: false });
  }
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  await expect(page.locator('[data-banner]')).toHaveCount(0);
  const next = await cluster.submit({ name: 'job-thawed' });
  await expect(page.locator(`[data-key="${next}"]`)).toBeVisible();
});

test('rights that change close the stream: the page says why, offers what is allowed, and goes on', async ({
  cluster,
  page,
  watch,
}) => {
  await cluster.text(['admin', 'user', 'set', 'lee', '--role', 'operator', '-y']);
  await page.goto(await cluster.code('lee' as 'user'));
  await expect(page.getByRole('link', { name: 'Admin' })).toBeVisible();
  await page.goto('/queue');
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  watch.allow(REFUSED);
  await cluster.text(['admin', 'user', 'set', 'lee', '--role', 'user', '-y']);
  const banner = page.locator('[data-banner=bye]');
  await expect(banner).toContainText('Closed by the scheduler');
  await expect(page.getByRole('link', { name: 'Admin' })).toHaveCount(0);
  await banner.getByRole('button', { name: 'Try again' }).click();
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  await expect(banner).toHaveCount(0);
});

test('a session whose token is revoked ends at once, and the sign-in page says why', async ({
  cluster,
  page,
  signIn,
  watch,
}) => {
  await signIn('viewer', '/queue');
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  const { tokens } = await cluster.json<{ tokens: { id: string; user: string; note: string }[] }>([
    'admin',
    'token',
    'list',
    '--all',
  ]);
  watch.allow(REFUSED);
  for (const { id, user, note } of tokens) {
    if (user === 'vera' && note === 'web session') await cluster.text(['admin', 'token', 'revoke', id, '-y']);
  }
  await expect(page.getByRole('heading', { name: 'Sign in to Glim' })).toBeVisible();
  await expect(page.getByRole('alert')).toContainText(/revoked|token|session/i);
});

test('without a shared worker each tab has a stream of its own', async ({ cluster, context, page, signIn }) => {
  await context.addInitScript(() => delete (window as { SharedWorker?: unknown }).SharedWorker);
  const streams = () => cluster.metric('glim_calls_held', 'bound="streams"');
  await signIn('user', '/queue');
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
  expect(await page.evaluate(() => 'SharedWorker' in window)).toBe(false);
  const one = await streams();
  const other = await context.newPage();
  await other.goto('/queue');
  await expect(other.locator(sign)).toHaveAttribute('data-stream', 'live');
  expect(await streams()).toBe(one + 1);
  const id = await cluster.submit({ name: 'job-alone' });
  for (const tab of [page, other]) await expect(tab.locator(`[data-key="${id}"]`)).toContainText(/starting|running/);
  await page.locator(`[data-key="${id}"]`).getByRole('link').first().click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('job-alone');
  await other.close();
  await expect.poll(streams).toBe(one);
});

test('a page that wants nothing live shows no state of a stream', async ({ page, signIn }) => {
  await signIn('user', '/nowhere');
  await expect(page.getByText('There is no such page')).toBeVisible();
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'idle');
  await expect(page.locator(sign)).toHaveText('');
  await page.getByRole('link', { name: 'Queue' }).click();
  await expect(page.locator(sign)).toHaveAttribute('data-stream', 'live');
});
