import { expect, expectGoodPage, REFUSED, test } from './harness/fixtures';

const NAMES = /kim|vera|oscar|job-\w+|default|Glim|GPU|CEST?|Ctrl/;

test('@main shows a job live, and cancels it after saying what that does', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-run' });
  await signIn('user', `/jobs/${id}`);
  const heading = page.getByRole('heading', { level: 1 });
  await expect(heading).toContainText('running');
  await expect(page.getByRole('grid', { name: 'Attempts' }).getByRole('row')).toHaveCount(2);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('ends for good');
  await dialog.getByLabel(/Reason/).fill('seen enough');
  await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(heading).toContainText('cancelled');
  await expect(page.getByText('seen enough').first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Cancel', exact: true })).toHaveCount(0);
});

test('a script in what a user wrote is text', async ({ cluster, page, signIn }) => {
  // Names of jobs have letters and digits alone; reasons and messages are free.
  const refused = await cluster.glim(['submit', '--name', '<script>', '--', 'true'], { user: 'kim' });
  expect(refused.stderr).toContain('other characters');
  const id = await cluster.submit({ name: 'job-script' });
  const text = '<script>window.broken=1</script><img src=x onerror=window.broken=1>';
  await cluster.text(['admin', 'job', 'kill', String(id), '--reason', text, '-y']);
  await signIn('user', `/jobs/${id}`);
  await expect(page.getByText(text).first()).toBeVisible();
  expect(await page.evaluate(() => 'broken' in window)).toBe(false);
});

test('shows the file that submits the job again, to those who may see all of it', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-file', run: 'exec sleep 600' });
  await signIn('user', `/jobs/${id}`);
  await page.getByRole('tab', { name: 'Spec' }).click();
  const file = page.getByRole('tabpanel').locator('pre');
  await expect(file).toContainText('kind: Job');
  expect(await file.textContent()).toBe(await cluster.text(['-o', 'yaml', 'status', String(id)]));
  await signIn('viewer', `/jobs/${id}`);
  await page.getByRole('tab', { name: 'Spec' }).click();
  await expect(page.getByText('see the whole spec')).toBeVisible();
});

test('suspends and resumes', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-pause' });
  await signIn('user', `/jobs/${id}`);
  const heading = page.getByRole('heading', { level: 1 });
  await expect(heading).toContainText('running');
  for (const [act, state] of [
    ['Suspend', 'held'],
    ['Resume', 'running'],
  ] as const) {
    await page.getByRole('button', { name: act, exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click();
    await expect(heading).toContainText(state);
  }
});

test("others' jobs offer no acts, and a refusal is told", async ({ cluster, page, signIn, watch }) => {
  const id = await cluster.submit({ name: 'job-of-kim' });
  await signIn('viewer', `/jobs/${id}`);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('job-of-kim');
  await expect(page.getByRole('button', { name: 'Cancel', exact: true })).toHaveCount(0);
  watch.allow(REFUSED);
  await page.goto('/jobs/99999999');
  await expect(page.getByText('There is no job 99999999.')).toBeVisible();
});

test('is good to look at for everybody', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-good' });
  await signIn('operator', `/jobs/${id}`);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('running');
  await expectGoodPage(page, NAMES);
});
