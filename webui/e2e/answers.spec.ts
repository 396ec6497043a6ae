// Four questions that people come with, answered by the page alone: a reader signs in and clicks as they would, knows
// no address and no command. What they read is compared with `glim -o json` and with what the test did.
import type { Locator, Page } from '@playwright/test';
import { formatDuration, formatGpuHours, formatNumber, formatPercent } from '../src/ui/format';
import { expect, test } from './harness/fixtures';
import { TRAINING } from './harness/training';

interface Why {
  blockers: { message: string; job_ids: number[] }[];
  outlook: { ahead_count: number; ahead_job_ids: number[]; estimate: { earliest_at_ms: number; unknown: string } };
}
interface Receipt {
  attempt: number;
  steps_lost: number;
  save: string;
  agreement: {
    preemptor: { job_id: number };
    preemptor_name: string;
    preemptor_user: string;
    reason: string;
    requested_at_ms: number;
    stop_step: number;
    grace_used_ms: number;
    times: Record<string, number>;
  };
}
interface Status {
  job: { gpus: number; attempts: { running_at_ms: number; steps_lost: number; save: string }[] };
  receipts: Receipt[];
}
interface Amounts {
  name: string;
  jobs: number;
  gpu_ms: number;
  productive_gpu_ms: number;
  lost_gpu_ms: number;
}

const moment = (atMs: number) => `time[datetime="${new Date(atMs).toISOString()}"]`;
const open = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

// As a reader finds a job of which they know the number: in the list, by its link.
async function openJob(page: Page, id: number): Promise<void> {
  await open(page, 'Queue');
  await page
    .locator(`[data-key="${id}"]`)
    .getByRole('link', { name: String(id), exact: true })
    .click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(`Job ${id}`);
}

test.afterEach(async ({ cluster }) => {
  for (const node of ['n1', 'n2', 'n3', 'n4']) await cluster.glim(['admin', 'node', 'uncordon', node, '-y']);
});

test('@main why does a job wait', async ({ cluster, page, signIn }) => {
  const first = await cluster.submit({ name: 'job-holds', nodes: 4 });
  const ahead = await cluster.submit({ name: 'job-ahead', nodes: 4 });
  const id = await cluster.submit({ name: 'job-waits', nodes: 2, user: 'lee' });
  await signIn('viewer');
  await open(page, 'Queue');
  const row = page.locator(`[data-key="${id}"]`);
  await expect(row).toContainText('queued');
  const why = await cluster.json<Why>(['why', String(id)]);
  expect(why.blockers.length).toBeGreaterThan(0);
  await row.getByText('job-waits').click();
  const beside = page.getByRole('complementary');
  await expectWhy(beside, why);
  await beside.getByRole('link', { name: /job-waits/ }).click();
  const answer = page.getByRole('region', { name: 'Why it waits' });
  await expectWhy(answer, why);
  // Whom it waits for is a click away: one who runs, or one who is before it.
  const others = new Set([first, ahead].map(String));
  const named = await answer.getByRole('link').allInnerTexts();
  expect(named.filter((text) => others.has(text))).not.toEqual([]);
});

async function expectWhy(answer: Locator, { blockers, outlook }: Why): Promise<void> {
  for (const { message, job_ids } of blockers) {
    await expect(answer).toContainText(message);
    for (const id of job_ids.slice(0, 8))
      await expect(answer.getByRole('link', { name: String(id) })).not.toHaveCount(0);
  }
  const ahead = answer.locator('[data-part=ahead]');
  await expect(ahead).toContainText(outlook.ahead_count > 0 ? String(outlook.ahead_count) : 'nobody');
  for (const id of outlook.ahead_job_ids) await expect(ahead.getByRole('link', { name: String(id) })).toBeVisible();
  const { earliest_at_ms, unknown } = outlook.estimate;
  if (earliest_at_ms === 0) await expect(answer.locator('[data-part=estimate]')).toContainText(`unknown (${unknown})`);
  else await expect(answer.locator('[data-part=estimate] time')).not.toHaveCount(0);
}

test('@main who interrupted a job, and what did it cost', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'job-victim', run: TRAINING, nodes: 2 });
  const status = () => cluster.json<Status>(['status', String(id)]);
  const step = async () =>
    (await cluster.json<{ job: { attempts: { last_step: number }[] } }>(['status', String(id)])).job;
  await expect.poll(async () => (await step()).attempts[0]?.last_step).toBeGreaterThan(5);
  const urgent = { name: 'job-urgent', user: 'lee', nodes: 4, run: 'sleep 1', priority: 'high' };
  const by = await cluster.submit(urgent);
  await expect.poll(async () => (await status()).job.attempts[1]?.running_at_ms).toBeGreaterThan(0);
  const { job, receipts } = await status();
  const [receipt] = receipts;
  if (!receipt) throw new Error('no receipt');
  await signIn('viewer');
  await openJob(page, id);
  const answer = page.getByRole('region', { name: 'Interrupts and what they cost' }).locator('[data-interrupt]');
  await expect(answer).toHaveCount(receipts.length);
  await expect(answer).toContainText(`for job ${by} job-urgent of lee`);
  expect(receipt.agreement).toMatchObject({ preemptor_name: urgent.name, preemptor_user: urgent.user });
  await expect(answer).toContainText(receipt.agreement.reason);
  await expect(answer.locator(moment(receipt.agreement.requested_at_ms))).toBeVisible();
  await expectCost(answer, job, receipt);
  await answer.getByRole('link', { name: `${by} job-urgent` }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(`Job ${by} job-urgent`);
});

async function expectCost(answer: Locator, job: Status['job'], { agreement, steps_lost }: Receipt): Promise<void> {
  const fact = (name: string) => answer.locator(`[data-part=${name}]`);
  const { grace_used_ms, requested_at_ms, stop_step, times } = agreement;
  await expect(fact('lost')).toContainText(formatNumber(steps_lost, 'en'));
  await expect(fact('stop')).toContainText(formatNumber(stop_step, 'en'));
  await expect(fact('grace')).toContainText(formatDuration(grace_used_ms, 'en'));
  await expect(fact('gpus')).toContainText(formatGpuHours(grace_used_ms * job.gpus, 'en'));
  const goneMs = (job.attempts[1]?.running_at_ms ?? 0) - requested_at_ms;
  await expect(fact('gone')).toContainText(formatDuration(goneMs, 'en'));
  for (const phase of ['notify', 'agree', 'save', 'leave', 'release']) {
    const ms = times[`${phase}_ms`] ?? -1;
    const word = fact('own').locator(`[data-phase=${phase}]`);
    if (ms >= 0) await expect(word).toContainText(formatDuration(ms, 'en'));
    else await expect(word).toHaveCount(0);
  }
}

test('@main which node is out, since when, by whom and why', async ({ cluster, page, signIn }) => {
  const reason = 'a fan that rattles';
  await cluster.text(['admin', 'node', 'drain', 'n3', '--reason', reason, '-y'], { user: 'oscar' });
  interface Node {
    name: string;
    state: string;
    message: string;
    cordon: { by: string; since_ms: number; reason: string } | null;
  }
  const nodes = async () => (await cluster.json<{ nodes: Node[] }>(['nodes'])).nodes;
  await signIn('viewer');
  await open(page, 'Cluster');
  const out = page.getByRole('region', { name: 'Nodes that take no jobs' });
  const drained = (await nodes()).find(({ name }) => name === 'n3')?.cordon;
  await expect(out.getByRole('listitem')).toHaveCount(1);
  const told = out.getByRole('listitem').filter({ hasText: 'n3' });
  await expect(told).toContainText('drained');
  await expect(told).toContainText(reason);
  await expect(told).toContainText(drained?.by ?? '?');
  expect(drained?.by).toBe('oscar');
  await expect(told.locator(moment(drained?.since_ms ?? 0))).toBeVisible();

  // A second one falls silent by itself: it comes into the list, with its own words.
  await cluster.ask('kill_agent', { node: 'n2' });
  try {
    const silent = out.getByRole('listitem').filter({ hasText: 'n2' });
    await expect(silent).toContainText(/silent|lost/);
    const row = (await nodes()).find(({ name }) => name === 'n2');
    await expect(silent).toContainText(row?.state ?? '?');
    const since = silent.locator('time');
    const events = await cluster.text(['-o', 'json', 'events', '--node', 'n2']);
    expect(events).toContain(String(new Date((await since.getAttribute('datetime')) ?? '').getTime()));
    await silent.getByRole('link', { name: 'n2' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText(/n2\s*(silent|lost)/);
    await expect(page.locator('[data-part=state] time')).toBeVisible();
  } finally {
    await cluster.ask('start_agent', { node: 'n2' });
  }
  await page.goBack();
  await expect(out.getByRole('listitem')).toHaveCount(1);
  await out.getByRole('link', { name: 'n3' }).click();
  const state = page.locator('[data-part=state]');
  await expect(state).toContainText(reason);
  await expect(state).toContainText('oscar');
  await expect(state.locator(moment(drained?.since_ms ?? 0))).toBeVisible();
});

test('@main where did the GPU-hours of last week go', async ({ cluster, page, signIn }) => {
  for (const user of ['kim', 'lee']) {
    const done = await cluster.submit({ name: `job-of-${user}`, run: 'sleep 1', nodes: 2, user });
    await cluster.text(['wait', String(done)]);
  }
  const report = async (by: string, ...more: string[]) => {
    const args = ['admin', 'report', 'usage', '--by', by, '--since', '7d', ...more];
    return (await cluster.json<{ report: { rows: Amounts[]; total: Amounts } }>(args)).report;
  };
  await signIn('viewer');
  await open(page, 'Usage');
  await expect(page.getByRole('button', { name: '7 days' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('button', { name: 'User', exact: true }).click();
  const { rows, total } = await report('user');
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['kim', 'lee']));
  const hours = (ms: number) => formatGpuHours(ms, 'en');
  await expect(page.locator('[data-part=sum]')).toHaveText(`${hours(total.gpu_ms)} GPU-hours`);
  const around = total.gpu_ms - total.productive_gpu_ms - total.lost_gpu_ms;
  const answer = page.getByRole('region', { name: 'In all' });
  for (const [part, ms] of Object.entries({
    productive: total.productive_gpu_ms,
    around,
    lost: total.lost_gpu_ms,
  })) {
    await expect(answer.locator(`[data-part=${part}]`)).toContainText(hours(ms));
    await expect(answer.locator(`[data-part=${part}]`)).toContainText(formatPercent(ms / total.gpu_ms, 'en'));
  }
  for (const row of rows) {
    const shown = page.locator(`[data-key="${row.name}"]`);
    await expect(shown).toContainText(hours(row.gpu_ms));
    await expect(shown).toContainText(formatPercent(row.gpu_ms / total.gpu_ms, 'en'));
  }
  // From a user to that user's jobs.
  await page.locator('[data-key=lee]').click();
  const jobs = (await report('job', '--user', 'lee')).rows;
  await expect(page.getByRole('grid').getByRole('row')).toHaveCount(jobs.length + 1);
  for (const job of jobs) await expect(page.locator(`[data-key="${job.name}"]`)).toContainText(hours(job.gpu_ms));
});
