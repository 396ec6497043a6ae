import { readFileSync } from 'node:fs';
import { expect, expectGoodPage, test } from './harness/fixtures';

const NAMES = /kim|lee|max|vera|oscar|team-\w+|job-\w+|default|Glim|GPU|CSV|mm\/dd\/yyyy|CEST?|Ctrl/;

interface Report {
  rows: { name: string; gpu_ms: number }[];
  total: { gpu_ms: number; jobs: number };
}

const shown = (gpuMs: number) => {
  const hours = gpuMs / 3_600_000;
  const maximumFractionDigits = hours >= 100 ? 0 : hours >= 1 ? 1 : 3;
  return hours.toLocaleString('en', { maximumFractionDigits });
};

test.beforeEach(async ({ cluster }) => {
  await cluster.text(['wait', String(await cluster.submit({ name: 'job-short', run: 'sleep 2', nodes: 2 }))], {});
});

test('says where the GPU-hours of last week went, as the command line does', async ({ cluster, page, signIn }) => {
  const lee = await cluster.submit({ name: 'job-lee', run: 'sleep 1', user: 'lee' });
  await cluster.text(['wait', String(lee)]);
  await signIn('viewer', '/usage?by=user');
  const command = ['admin', 'report', 'usage', '--by', 'user', '--since', '7d'];
  const { report } = await cluster.json<{ report: Report }>(command);
  await expect(page.locator('[data-part=sum]')).toHaveText(`${shown(report.total.gpu_ms)} GPU-hours`);
  await expect(page.getByText(`went to ${report.total.jobs} jobs that ended in this time.`)).toBeVisible();
  for (const row of report.rows) {
    await expect(page.locator(`[data-key="${row.name}"]`)).toContainText(shown(row.gpu_ms));
  }
  await page.locator('[data-part=lost]').getByRole('button').hover();
  await expect(page.getByRole('note').filter({ hasText: command.join(' ') })).toBeVisible();
});

test('goes from a user to the jobs by keyboard, and the address keeps it', async ({ page, signIn }) => {
  await signIn('viewer', '/usage?by=user&range=24h');
  await page.locator('[data-key=kim]').focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/by=job/);
  expect(page.url()).toContain('user=kim');
  expect(page.url()).toContain('range=24h');
  await expect(page.getByRole('link', { name: /job-short/ }).first()).toBeVisible();
  await page.reload();
  await expect(page.getByRole('button', { name: '24 hours' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByLabel('to', { exact: true }).fill('2020-01-02');
  await expect(page.getByText('No job ended in that time.')).toBeVisible();
});

test('gives the table as CSV', async ({ page, signIn }) => {
  await signIn('viewer', '/usage?by=pool');
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const file = await coming;
  expect(file.suggestedFilename()).toBe('glim-usage-by-pool.csv');
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\r\n');
  expect(lines[0]).toMatch(/^pool,.*,gpu_hours,productive_gpu_hours,/);
  expect(lines[1]).toMatch(/^default,/);
});

test('the ledger adds up, and a job that ends is counted by itself', async ({ cluster, page, signIn }) => {
  await signIn('viewer', '/usage?tab=ledger');
  await expect(page.getByText('to the millisecond')).toBeVisible();
  await page.getByRole('tab', { name: 'Jobs that ended' }).click();
  const count = async () => {
    const words = await page.getByText(/went to \d+ jobs? that ended/).textContent();
    return Number(/went to (\d+)/.exec(words ?? '')?.[1]);
  };
  const before = await count();
  await cluster.submit({ name: 'job-more', run: 'sleep 1' });
  await expect.poll(count).toBeGreaterThan(before);
});

test('shows quotas beside what runs now', async ({ cluster, page, signIn }) => {
  await cluster.text(['admin', 'quota', 'set', 'user:kim', 'normal', '3', '-y']);
  await signIn('viewer', '/usage?tab=quotas');
  const row = page.locator('[data-key="user/kim/*/normal"]');
  await expect(row).toContainText('user kim');
  await cluster.submit({ name: 'job-two', nodes: 2 });
  await expect(row.getByRole('gridcell').nth(4)).toHaveText('2');
  await expect(row.getByRole('gridcell').nth(5)).toHaveText('3');
  await cluster.text(['admin', 'quota', 'remove', 'user:kim', 'normal', '-y']);
});

test('is good to look at for everybody', async ({ page, signIn }) => {
  await signIn('viewer', '/usage');
  await expect(page.locator('[data-part=sum]')).toBeVisible();
  await expectGoodPage(page, NAMES);
  for (const tab of ['running', 'ledger', 'quotas']) {
    await page.goto(`/usage?tab=${tab}`);
    await expect(page.getByRole('tab', { selected: true })).toBeVisible();
    await expect(page.getByRole('tabpanel').getByRole('status')).toHaveCount(0);
    await page.evaluate(() => localStorage.setItem('glim-language', 'en'));
    await page.reload();
    await expect(page.getByRole('tab', { selected: true })).toBeVisible();
    await expectGoodPage(page, NAMES);
  }
});
