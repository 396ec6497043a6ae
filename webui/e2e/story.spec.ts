// The story of deploy/quickstart, watched in the page while it runs: training makes room for a more urgent job, saves,
// leaves, waits, and comes back at its step. Whoever watches reloads nothing.
import type { Page } from '@playwright/test';
import { Cluster } from './harness/cluster';
import { expect, test } from './harness/fixtures';

interface Status {
  job: { state: string; attempts: { base_step: number; last_step: number; state: string }[] };
  receipts: { steps_lost: number; agreement: { reason: string; stop_step: number; times: Record<string, number> } }[];
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 });

// Keeps, in the page, each state that its heading shows; what is kept would be gone after a reload.
async function keepStates(page: Page): Promise<void> {
  await page.evaluate(() => {
    const kept: string[] = [];
    Object.assign(window, { kept });
    const look = () => {
      const state = document.querySelector('h1 [data-state]')?.getAttribute('data-state') ?? '';
      if (state && kept.at(-1) !== state) kept.push(state);
    };
    look();
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
}

test('the story is followed in the page, from the first step to the last', async ({ page }) => {
  const story = await Cluster.start({ story: true });
  try {
    await page.goto(await story.code('ana'));
    await page.getByRole('navigation').getByRole('link', { name: 'Queue' }).click();
    const a = await story.ask<number>('story_training', { name: 'digits', epochs: 3, step_ms: 100 });
    await page
      .locator(`[data-key="${a}"]`)
      .getByRole('link', { name: String(a), exact: true })
      .click();
    await expect(heading(page)).toContainText('running');
    await keepStates(page);
    await expect(page.locator('[data-part=rate]')).toContainText('steps/s');

    const b = await story.ask<number>('story_urgent', { name: 'urgent', victims: [a], steps: 300 });
    const receipt = page.locator('[data-interrupt="1.1"]');
    await expect(receipt).toContainText(`for job ${b} urgent of ben`);
    await expect(heading(page)).toContainText('queued');
    const waits = page.getByRole('region', { name: 'Why it waits' });
    await expect(waits.getByRole('link', { name: String(b), exact: true }).first()).toBeVisible();
    await expect(page.locator('[data-attempt="1"]')).toContainText('interrupted');
    await expect(receipt.locator('[data-part=gone]')).toContainText('does not run yet');

    await expect(heading(page)).toContainText('running');
    await expect(receipt.locator('[data-part=gone]')).toContainText('sec');
    await expectReceipt(page, story, a);
    await expect(heading(page)).toContainText('succeeded');
    const states = await page.evaluate(() => (window as unknown as { kept: string[] }).kept);
    const main = states.filter((state) => ['running', 'queued', 'succeeded'].includes(state));
    expect(main, `of ${states.join(', ')}`).toEqual(['running', 'queued', 'running', 'succeeded']);
    await page.getByRole('navigation').getByRole('link', { name: 'Queue' }).click();
    await expect(page.getByText('Nothing runs and nothing waits.')).toBeVisible();
  } finally {
    await page.close();
    await story.stop();
  }
});

// Who, why, each phase, and that it went on at the step after the one that it had saved: as the command line says.
async function expectReceipt(page: Page, story: Cluster, id: number): Promise<void> {
  const { job, receipts } = await story.json<Status>(['status', String(id)]);
  const { agreement, steps_lost } = receipts[0]!;
  const receipt = page.locator('[data-interrupt="1.1"]');
  await expect(receipt).toContainText(agreement.reason);
  await expect(receipt.locator('[data-part=lost]')).toContainText(`${steps_lost} (saved)`);
  await expect(receipt.locator('[data-part=stop]')).toContainText(String(agreement.stop_step));
  for (const phase of ['notify', 'agree', 'save', 'release']) {
    await expect(receipt.locator(`[data-part=own] [data-phase=${phase}]`)).toBeVisible();
    await expect(receipt.locator(`[data-part=theirs] [data-phase=${phase}]`)).toBeVisible();
  }
  expect(job.attempts[1]?.base_step).toBe(agreement.stop_step);
  const second = page.getByRole('grid', { name: 'Attempts' }).locator('[data-key="2"]');
  await expect(second).toContainText(String(agreement.stop_step));
}
