import { expect, REFUSED, test } from './harness/fixtures';

test('@main a code signs in once, and is taken out of the address', async ({ cluster, page, watch }) => {
  const address = await cluster.code('user');
  await page.goto(address);
  await expect(page.getByRole('navigation')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Settings of kim' })).toBeVisible();
  expect(page.url()).not.toContain('code');
  await page.getByRole('button', { name: 'Settings of kim' }).click();
  watch.allow(REFUSED); // who is signed out is asked who they are
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to Glim' })).toBeVisible();
  await page.goto('about:blank');
  await page.goto(address);
  await expect(page.getByRole('alert')).toContainText('code');
});

test('an address with a code that is opened in the tab of the sign-in page signs in', async ({
  cluster,
  page,
  watch,
}) => {
  watch.allow(REFUSED);
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Sign in to Glim' })).toBeVisible();
  await page.goto(await cluster.code('user'));
  await expect(page.getByRole('navigation')).toBeVisible();
});

test('a pasted address signs in, and the page that was asked for is shown', async ({ cluster, page, watch }) => {
  watch.allow(REFUSED);
  await page.goto('/queue?user=kim');
  await expect(page.getByText('glim login --web')).toBeVisible();
  await page.getByLabel('Address or code').fill(await cluster.code('viewer'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Queue' })).toBeVisible();
  expect(page.url()).toContain('/queue?user=kim');
});

test('who signs out does so in all tabs', async ({ context, page, signIn, watch }) => {
  await signIn('user', '/queue');
  const other = await context.newPage();
  await other.goto('/queue');
  await expect(other.getByRole('heading', { name: 'Queue' })).toBeVisible();
  watch.allow(REFUSED);
  await page.getByRole('button', { name: /Settings/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(other.getByRole('heading', { name: 'Sign in to Glim' })).toBeVisible();
});

test('@main a changing request without the right CSRF token is refused', async ({ cluster, page, signIn, watch }) => {
  const id = await cluster.submit();
  await signIn('user', '/queue');
  watch.allow(REFUSED);
  const refused = await page.evaluate(async (path) => {
    const headers = { 'Content-Type': 'application/json', 'X-Glim-Csrf': 'wrong' };
    const answer = await fetch(path, { method: 'POST', headers, body: '{}' });
    return { status: answer.status, body: (await answer.json()) as { error: { reason: string } } };
  }, `/v1/jobs/${id}/cancel`);
  expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'CSRF' } } });
});
