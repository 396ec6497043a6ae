// The page of a job that was interrupted: bars, receipts, step rate, what is looked up.
import { expect, expectGoodPage, test } from './harness/fixtures';
import { TRAINING } from './harness/training';

const NAMES = /kim|lee|job-\w+|default|Glim|GPU|CEST?|Ctrl|sleep 2/;

test('steps are told live, and the rate with them', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-steps', run: TRAINING });
  await signIn('user', `/jobs/${id}?tab=nodes`);
  const cell = page.getByRole('grid', { name: 'Nodes and ranks' }).getByRole('row').nth(1).getByRole('gridcell').nth(4);
  const step = async () => Number((await cell.innerText()).replace(/\D/g, ''));
  await expect.poll(step).toBeGreaterThan(3);
  const before = await step();
  await expect.poll(step).toBeGreaterThan(before + 5);
  await expect(page.locator('[data-part=rate]')).toContainText('steps/s');
  await expect(page.getByRole('img', { name: 'Step rate' }).locator('canvas')).toBeVisible();
});

test('who interrupted it and what it cost is read from the page alone', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-victim', run: TRAINING });
  await signIn('user', `/jobs/${id}`);
  await expect(page.locator('[data-part=rate]')).toContainText('steps/s');
  const urgent = await cluster.submit({ name: 'job-urgent', user: 'lee', nodes: 4, run: 'sleep 2', priority: 'high' });
  const receipt = page.locator('[data-interrupt="1.1"]');
  await expect(receipt).toContainText(`for job ${urgent} job-urgent of lee`);
  await expect(receipt.locator('[data-part=gone]')).toContainText(/\d+(\.\d+)? sec/);
  const { receipts } = await cluster.json<{ receipts: { steps_lost: number; agreement: { stop_step: number } }[] }>(
    ['status', String(id)],
    { user: 'kim' },
  );
  await expect(receipt.locator('[data-part=lost]')).toContainText(`${receipts[0]?.steps_lost} (saved)`);
  await expect(receipt.locator('[data-part=stop]')).toContainText(`${receipts[0]?.agreement.stop_step}`);
  for (const phase of ['notify', 'agree', 'save', 'release']) {
    await expect(receipt.locator(`[data-part=own] [data-phase=${phase}]`)).toBeVisible();
    await expect(receipt.locator(`[data-part=theirs] [data-phase=${phase}]`)).toBeVisible();
  }
  // The bars, by the keyboard alone; the address leads to the same again.
  await page.locator('[data-attempt="1"]').focus();
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('[data-attempt="2"]')).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('attempt=1');
  await page.goto(`/jobs/${id}?interrupt=1.1`);
  await expect(page.locator('[data-attempt="1"]')).toHaveAttribute('aria-pressed', 'true');
  await expect(receipt).toBeInViewport();
  await expect(page.locator('[data-use=stopping]')).toBeVisible();
  await expectGoodPage(page, NAMES);
});

test('an operator moves a job after the cost is told, and the receipt says who', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-moves', run: TRAINING });
  await signIn('operator', `/jobs/${id}`);
  await expect(page.locator('[data-part=rate]')).toContainText('steps/s');
  await page.getByRole('button', { name: 'Suspend', exact: true }).click();
  await expect(page.getByRole('dialog').locator('[data-part=risk]')).toContainText(/it loses \d+ steps/);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Expected cost');
  await dialog.getByLabel(/Reason/).fill('a fan is loud');
  await dialog.getByRole('button', { name: 'Move', exact: true }).click();
  const receipt = page.locator('[data-interrupt="1.1"]');
  await expect(receipt).toContainText('a fan is loud');
  await expect(receipt).toContainText('oscar');
  await expect(page.locator('[data-attempt="2"]')).toContainText('running');
});

test('nodes, events and the spec stand below', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-tabs', nodes: 2 });
  await signIn('user', `/jobs/${id}`);
  await page.getByRole('tab', { name: 'Nodes of attempt 1' }).click();
  await expect(page.getByRole('grid', { name: 'Nodes and ranks' }).getByRole('row')).toHaveCount(3);
  await page.keyboard.press('ArrowRight');
  const events = page.getByRole('grid', { name: 'Events' });
  await expect(events).toContainText('attempt running');
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('pre')).toContainText('name: job-tabs');
  await page.keyboard.press('ArrowLeft');
  await cluster.text(['cancel', String(id)], { user: 'kim' });
  await expect(events).toContainText('job cancelled');
});
