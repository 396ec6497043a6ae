// A GPU falls off the bus under a running job: whoever opens the node's page reads what happened, what was done about
// it and what they are to do, and the cluster's page says which nodes take no jobs, and why.
import type { Page } from '@playwright/test';
import { Cluster } from './harness/cluster';
import { expect, expectGoodPage, test as base } from './harness/fixtures';

const NAMES = /kim|oscar|health|node-\w+|default|Glim|GPU|CEST?|Ctrl|NVLink|ethernet|process|PCI|NUMA|Xid|CPU|[GT]iB/;
const XID = /xid 79/i;
const SAID = 'GPU has fallen off the bus';
const DO = 'reboot the node';

interface Nodes {
  nodes: { name: string; holder: { job_id: number } | null }[];
}

const test = base.extend({
  cluster: async ({}, use) => {
    const cluster = await Cluster.start({ kernelLogs: true, nodes: { n1: ['A', 'a1'], n2: ['A', 'a1'] } });
    await use(cluster);
    await cluster.stop();
  },
});

async function holderOf(cluster: Cluster, id: number): Promise<string> {
  const { nodes } = await cluster.json<Nodes>(['nodes']);
  return nodes.find(({ holder }) => holder?.job_id === id)?.name ?? '';
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const open = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

test('a node whose GPU is gone says so, says what to do, and is given back', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'node-trains' });
  await expect.poll(() => holderOf(cluster, id)).not.toBe('');
  const node = await holderOf(cluster, id);
  await signIn('operator', `/nodes/${node}/`);
  await expect(heading(page)).toContainText('ready');
  const health = page.locator('[data-part=health]');
  await expect(health).toContainText('Nothing is wrong');
  await cluster.ask('gpu_falls_off', { node });

  await test.step('what happened, what was done, what to do', async () => {
    await expect(heading(page)).toContainText('cordoned');
    const state = page.locator('[data-part=state]');
    await expect(state).toContainText('Cordoned by health');
    for (const words of [XID, '0000:3b:00.0', SAID]) await expect(state).toContainText(words);
    await expect(state).toContainText(`What to do: ${DO}, then: glim admin node uncordon ${node}`);
    const row = health.getByRole('grid', { name: 'Happened' });
    for (const words of ['Xid 79', '0000:3b:00.0', 'taken out', SAID]) await expect(row).toContainText(words);
    await expect(row.getByRole('link', { name: String(id), exact: true })).toBeVisible();
    await expect(page.getByRole('grid', { name: 'What happened' })).toContainText('health: happened');
    await expect(page.locator('[data-part=jobs]')).toContainText('No job has this node');
  });

  await test.step('which nodes take no jobs', async () => {
    await open(page, 'Cluster');
    const out = page.getByRole('region', { name: 'Nodes that take no jobs' }).locator(`[data-node=${node}]`);
    for (const words of ['cordoned', 'health', XID, DO]) await expect(out).toContainText(words);
    await out.getByRole('link', { name: node }).click();
  });

  await test.step('its job runs on the other one', async () => {
    await expect.poll(() => holderOf(cluster, id)).not.toBe('');
    expect(await holderOf(cluster, id)).not.toBe(node);
  });

  await test.step('it is given back, and what happened stays', async () => {
    await page.getByRole('button', { name: 'Uncordon' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uncordon', exact: true }).click();
    await expect(heading(page)).toContainText('ready');
    await expect(health).toContainText('taken out');
    await open(page, 'Cluster');
    await expect(page.locator('[data-legend="state:free"]')).toContainText('1');
    await expect(page.locator('[data-part=out]')).toHaveCount(0);
    await page.goto(`/nodes/${node}/`);
    await expect(health).toContainText('taken out');
    await expectGoodPage(page, NAMES);
  });
});
