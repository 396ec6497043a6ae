import { expect, expectGoodPage, test } from './harness/fixtures';

const NAMES = /kim|lee|vera|oscar|job-\w+|default|Glim|GPU|starvation_bound|CEST?|Ctrl|µs|ms/;

test('@main an operator sees passes, what woke them, waits and promises', async ({ cluster, page, signIn }) => {
  await cluster.text(['wait', String(await cluster.submit({ name: 'job-two', nodes: 2, run: 'sleep 1' }))]);
  await signIn('operator', '/scheduler');
  const passes = page.getByRole('region', { name: 'Passes and decisions' });
  await expect(passes.getByRole('rowheader', { name: 'Passes' })).toBeVisible();
  await expect(passes).toContainText('job submitted');
  await expect(page.locator('[data-part=kept]')).toContainText(/(\d+) of \1 jobs? started in time \(100%\)/);
  await expect(page.getByRole('grid', { name: /Waits by class/ })).toContainText('normal');
  await expect(page.getByRole('grid', { name: /Waits by size/ })).toContainText('2–3');
});

test('counts by itself what waits, and a viewer sees what a viewer may', async ({ cluster, page, signIn }) => {
  await signIn('viewer', '/scheduler');
  await expect(page.getByText('Operators also see the planning passes')).toBeVisible();
  await cluster.submit({ name: 'job-all', nodes: 4 });
  await cluster.submit({ name: 'job-waits', nodes: 4 });
  const now = page.getByRole('region', { name: 'Now' });
  await expect(now.getByRole('definition').first()).toHaveText('1');
  await expect(now).toContainText('4 of 4');
});

test('is good to look at for everybody', async ({ page, signIn }) => {
  await signIn('operator', '/scheduler');
  await expect(page.getByRole('grid', { name: /Waits by size/ })).toBeVisible();
  await expect(page.getByRole('grid', { name: /Waits by class/ })).toBeVisible();
  await expectGoodPage(page, NAMES);
});
