import { expect, expectGoodPage, test } from './harness/fixtures';

const NAMES = /kim|lee|vera|oscar|job-\w+|default|Glim|GPU|CEST?|Ctrl/;

test('a job that is submitted elsewhere comes, changes and goes by itself', async ({ cluster, page, signIn }) => {
  await signIn('viewer', '/queue');
  await expect(page.getByText('Nothing runs and nothing waits.')).toBeVisible();
  const id = await cluster.submit({ name: 'job-live' });
  const row = page.locator(`[data-key="${id}"]`);
  await expect(row).toContainText('job-live');
  await expect(row).toContainText('running');
  await cluster.text(['cancel', String(id)], { user: 'kim' });
  await expect(row).toHaveCount(0);
});

test('@main a waiting job tells why, who is ahead and when; filters stand in the address', async ({
  cluster,
  page,
  signIn,
}) => {
  const running = await cluster.submit({ name: 'job-all', nodes: 4, priority: 'high' });
  await cluster.submit({ name: 'job-first', nodes: 4 });
  const last = await cluster.submit({ name: 'job-second', nodes: 2, user: 'lee' });
  await signIn('user', '/queue');
  await page.getByLabel('User').selectOption('lee');
  expect(page.url()).toContain('user=lee');
  await expect(page.getByRole('row')).toHaveCount(2);
  await page.locator(`[data-key="${last}"]`).focus();
  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary');
  await expect(panel).toContainText('Place in the list: 2');
  const why = await cluster.json<{ blockers: { message: string }[]; outlook: { ahead_count: number } }>(
    ['why', String(last)],
    { user: 'lee' },
  );
  await expect(panel).toContainText(why.blockers[0]?.message ?? '?');
  await expect(panel.locator('[data-part=ahead]')).toContainText(
    why.outlook.ahead_count > 0 ? String(why.outlook.ahead_count) : 'nobody',
  );
  await expect(panel.locator('[data-part=estimate]')).not.toBeEmpty();
  await page.reload();
  await expect(panel).toContainText('job-second');
  await panel.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(page.locator(`[data-key="${running}"]`)).toBeVisible();
});

test("what would start it now can be tried: the owner changes the job's class", async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'job-low', nodes: 4, priority: 'low' });
  const id = await cluster.submit({ name: 'job-wish', nodes: 1, priority: 'low' });
  await signIn('user', `/queue?job=${id}`);
  const panel = page.getByRole('complementary');
  await panel.getByRole('button', { name: 'Try this' }).first().click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('instead of low');
  await dialog.getByRole('button', { name: 'Change class' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.locator(`[data-key="${id}"]`)).toContainText(/starting|running/);
});

test('the keyboard alone: palette, rows, the page of a job', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-keys' });
  await signIn('user', '/queue');
  await expect(page.locator(`[data-key="${id}"]`)).toBeVisible();
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  await page.keyboard.type('keys');
  await expect(page.getByRole('dialog').getByRole('option')).toContainText('job-keys');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText(`Job ${id} job-keys`);
  await page.keyboard.press('/');
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog').getByRole('combobox')).toHaveCount(0);
});

test('@main is good to look at for everybody', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'job-all', nodes: 4 });
  const id = await cluster.submit({ name: 'job-waits', nodes: 2 });
  await signIn('operator', `/queue?job=${id}`);
  await expect(page.locator('[data-part=ahead]')).toBeVisible();
  await expectGoodPage(page, NAMES);
});
