import { expect, expectGoodPage, expectNoAxeViolations, REFUSED, test } from './harness/fixtures';

const HOUR_MS = 3_600_000;
// What an input of date and time takes: of the browser's zone, which playwright.config.ts sets.
const inputOf = (inMs: number) =>
  new Date(Date.now() + inMs).toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' }).slice(0, 16).replace(' ', 'T');
const NAMES = /kim|lee|vera|oscar|ada|root|team-\w+|job-\w+|default|Glim|GPU|CEST?|Ctrl/;

test('@main a quota is changed: what was, what will be, who is bounded', async ({ cluster, page, signIn }) => {
  await cluster.text(['admin', 'quota', 'set', 'user:kim', 'normal', '4', '-y']);
  await cluster.submit({ name: 'job-two', nodes: 2 });
  await signIn('operator', '/admin?tab=quota');
  await page.getByRole('button', { name: 'Change user:kim normal' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Nothing would change.');
  await expect(dialog.getByRole('button', { name: 'Change', exact: true })).toBeDisabled();
  await dialog.getByLabel('Nodes', { exact: true }).fill('3');
  await expect(dialog.locator('[data-part=diff]')).toContainText('4 nodes');
  await expect(dialog.locator('[data-part=diff]')).toContainText('3 nodes');
  await expect(dialog.locator('[data-part=bounded]')).toContainText('It bounds kim. In use now: 2 nodes');
  await expect(dialog).toContainText('glim admin quota set user:kim normal 3');
  await dialog.getByRole('button', { name: 'Change', exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.locator('[data-key="user:kim normal *"]')).toContainText('3');
  expect(await cluster.text(['admin', 'quota', 'list'])).toContain('at most 3 nodes at normal');
  await cluster.text(['admin', 'quota', 'remove', 'user:kim', 'normal', '-y']);
});

test('a team is added and removed', async ({ page, signIn }) => {
  await signIn('admin', '/admin?tab=team');
  await page.getByRole('button', { name: 'Add a team' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('team-new');
  await expect(dialog.locator('[data-part=diff]')).toContainText('nothing: it is new');
  await dialog.getByRole('button', { name: 'Add a team', exact: true }).click();
  await expect(page.locator('[data-key=team-new]')).toBeVisible();
  await page.getByRole('button', { name: 'Remove team-new' }).click();
  await expect(dialog).toContainText('nothing: it goes');
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.locator('[data-key=team-new]')).toHaveCount(0);
});

test('a token is shown once, and revoked', async ({ page, signIn }) => {
  await signIn('admin', '/admin?tab=token');
  await page.getByRole('button', { name: 'Make a token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User', { exact: true }).fill('kim');
  await dialog.getByLabel('Note', { exact: true }).fill('job-note');
  await expect(dialog).toContainText('Whoever has it acts as kim (read) for 90 days.');
  await dialog.getByRole('button', { name: 'Make a token' }).click();
  const secret = (await dialog.locator('[data-part=secret] code').textContent()) ?? '';
  expect(secret.length).toBeGreaterThan(20);
  await dialog.getByRole('button', { name: 'Close' }).click();
  const row = page.getByRole('row').filter({ hasText: 'job-note' });
  await expect(row).toContainText('kim');
  expect(await page.content()).not.toContain(secret);
  await row.getByRole('button', { name: /Revoke/ }).click();
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
  await expect(row).toHaveCount(0);
});

test('nodes are reserved, who would have to leave is told, and it is changed and taken back', async ({
  cluster,
  page,
  signIn,
}) => {
  const id = await cluster.submit({ name: 'job-there', nodes: 4 });
  await expect.poll(() => cluster.text(['status', String(id)])).toContain('running');
  await signIn('operator', '/admin?tab=reservation');
  await page.getByRole('button', { name: 'Reserve nodes' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Say first what it is called');
  await dialog.getByLabel('Name', { exact: true }).fill('team-fans');
  await dialog.getByRole('combobox', { name: 'What' }).selectOption('these very nodes');
  await dialog.getByLabel('Names of the nodes').fill('n2');
  await dialog.getByLabel('From (empty: now)').fill(inputOf(2 * HOUR_MS));
  await dialog.getByLabel('Until', { exact: true }).fill(inputOf(3 * HOUR_MS));
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('new fans');
  const diff = dialog.locator('[data-part=diff]');
  await expect(diff).toContainText('nothing: it is new');
  await expect(diff).toContainText('n2, for nobody, from');
  await expect(dialog.locator('[data-part=leave]')).toContainText('job-there (kim)');
  await expect(dialog).toContainText('glim admin reserve set team-fans --node n2 --from ');
  await expectNoAxeViolations(page);
  await dialog.getByRole('button', { name: 'Reserve nodes' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.locator('[data-key=team-fans]')).toContainText('planned');
  expect(await cluster.text(['admin', 'reserve', 'ls'])).toMatch(/team-fans +planned/);

  await page.getByRole('button', { name: 'Change team-fans' }).click();
  await expect(dialog).toContainText('Nothing would change.');
  await expect(dialog.getByRole('button', { name: 'Change', exact: true })).toBeDisabled();
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('new fans, and dust');
  await expect(diff).toContainText('new fans, and dust');
  await dialog.getByRole('button', { name: 'Change', exact: true }).click();
  await expect(page.locator('[data-key=team-fans]')).toContainText('and dust');

  await page.getByRole('button', { name: 'Remove team-fans' }).click();
  await expect(diff).toContainText('nothing: it goes');
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.locator('[data-key=team-fans]')).toHaveCount(0);
});

test('a reservation that cannot be is refused in words before anything is done', async ({ page, signIn, watch }) => {
  watch.allow(REFUSED);
  await signIn('operator', '/admin?tab=reservation');
  await page.getByRole('button', { name: 'Reserve nodes' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('team-many');
  await dialog.getByLabel('Nodes', { exact: true }).fill('400');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('all of it');
  await expect(dialog.getByRole('alert')).toContainText('400');
  await expect(dialog.getByRole('button', { name: 'Reserve nodes' })).toBeDisabled();
});

test('the audit trail is read and verified', async ({ cluster, page, signIn }) => {
  await cluster.text(['admin', 'team', 'add', 'team-seen']);
  await signIn('operator', '/admin?tab=audit');
  await expect(page.getByRole('grid')).toContainText('first start');
  await page.getByRole('button', { name: 'Verify the chain' }).click();
  await expect(page.locator('[data-part=verified]')).toContainText('The chain of hashes holds');
  await cluster.text(['admin', 'team', 'remove', 'team-seen', '-y']);
});

test('a user sees nothing of it', async ({ page, signIn }) => {
  await signIn('user', '/admin');
  await expect(page.getByText('You have no right to see this.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Admin' })).toHaveCount(0);
});

for (const tab of ['user', 'quota', 'token', 'reservation', 'link', 'policy', 'audit']) {
  test(`${tab}: is good to look at for everybody`, async ({ page, signIn }) => {
    await signIn('operator', `/admin?tab=${tab}`);
    await expect(page.getByRole('tabpanel').locator('[role=grid], pre').first()).toBeVisible();
    await expectGoodPage(page, NAMES);
  });
}
