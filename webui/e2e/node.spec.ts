import { expect, expectGoodPage, REFUSED, test } from './harness/fixtures';

const NAMES =
  /kim|vera|oscar|node-\w+|default|Glim|GPU|CEST?|Ctrl|NVLink|ethernet|groups|process|PCI|NUMA|Xid|CPU|[GM]b|[GT]iB/;

// Whatever became of a test, the next one finds all nodes in.
test.afterEach(async ({ cluster }) => {
  for (const node of ['n1', 'n2', 'n3', 'n4']) await cluster.glim(['admin', 'node', 'uncordon', node, '-y']);
});

test('@main an operator cordons a node after seeing who is there, and takes it back in', async ({
  cluster,
  page,
  signIn,
}) => {
  const id = await cluster.submit({ name: 'node-stays', nodes: 4 });
  await signIn('operator', '/nodes/n1/');
  const heading = page.getByRole('heading', { level: 1 });
  await expect(heading).toContainText('ready');
  await expect(page.locator('[data-part=jobs]')).toContainText('node-stays');
  await page.getByRole('button', { name: 'Cordon', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('These jobs are there, and stay');
  await expect(dialog).toContainText(String(id));
  await expect(dialog.getByRole('button', { name: 'Cordon', exact: true })).toBeDisabled();
  await dialog.getByLabel(/Reason/).fill('node-fan');
  await dialog.getByRole('combobox').first().selectOption({ index: 2 });
  await dialog.getByRole('button', { name: 'Cordon', exact: true }).click();
  await expect(heading).toContainText('cordoned');
  const state = page.locator('[data-part=state]');
  await expect(state).toContainText('oscar');
  await expect(state).toContainText('node-fan');
  await expect(state).toContainText('until in');
  await expect(page.getByRole('grid', { name: 'What happened' })).toContainText('cordoned by oscar: node-fan');
  await page.getByRole('button', { name: 'Uncordon' }).click();
  await dialog.getByRole('button', { name: 'Uncordon', exact: true }).click();
  await expect(heading).toContainText('ready');
  await page.getByRole('button', { name: 'Validate', exact: true }).click();
  await expect(dialog).toContainText('These jobs are there, and stay');
  await dialog.getByRole('button', { name: 'Validate', exact: true }).click();
  await expect(state).toContainText('An operator asked for it');
  await cluster.text(['admin', 'node', 'uncordon', 'n1', '-y'], { user: 'oscar' });
  await expect(state).not.toContainText('An operator asked for it');
});

test('a drain says what it costs, and empties the node', async ({ cluster, page, signIn }) => {
  const id = await cluster.submit({ name: 'node-leaves', nodes: 1 });
  const node = await cluster.json<{ nodes: { name: string; holder: { job_id: number } | null }[] }>(['nodes']);
  const name = node.nodes.find((one) => one.holder?.job_id === id)?.name ?? '';
  await signIn('operator', `/nodes/${name}/`);
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('GPU-hours');
  await dialog.getByLabel(/Reason/).fill('node-cable');
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
  const heading = page.getByRole('heading', { level: 1 });
  await expect(heading).toContainText('drained');
  await expect(page.locator('[data-part=jobs]')).toContainText('No job has this node');
  await cluster.text(['admin', 'node', 'uncordon', name, '-y'], { user: 'oscar' });
  await expect(heading).toContainText('ready');
});

test('who had it in the past, and where it is on the map', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'node-past', nodes: 4 });
  await signIn('user', '/nodes/n3/');
  await expect(page.locator('[data-part=jobs]')).toContainText('node-past');
  await page.locator('[data-part=holders]').getByRole('button').first().click();
  await expect(page.getByRole('grid', { name: 'Who had it' })).toBeVisible();
  await expect(page.locator('[data-part=holders]')).toContainText('do not go back that far');
  await page.getByRole('link', { name: 'Show on the map' }).click();
  await expect(page.locator('[data-part=counts]')).toContainText('1 of 4 nodes');
});

test('viewers and users are offered no acts', async ({ page, signIn, watch }) => {
  for (const role of ['viewer', 'user'] as const) {
    await signIn(role, '/nodes/n1/');
    await expect(page.getByRole('heading', { level: 1 })).toContainText('ready');
    await expect(page.getByRole('button', { name: 'Cordon', exact: true })).toHaveCount(0);
  }
  watch.allow(REFUSED);
  await page.goto('/nodes/nowhere/');
  await expect(page.getByText('There is no node nowhere.')).toBeVisible();
});

test('is good to look at for everybody', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'node-good', nodes: 4 });
  await cluster.text(['admin', 'node', 'cordon', 'n2', '--reason', 'node-fan', '-y'], { user: 'oscar' });
  await signIn('operator', '/nodes/n2/');
  await expect(page.locator('[data-part=jobs]')).toContainText('node-good');
  await expectGoodPage(page, NAMES);
  await cluster.text(['admin', 'node', 'uncordon', 'n2', '-y'], { user: 'oscar' });
});
