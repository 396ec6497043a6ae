import { expect, expectGoodPage, REFUSED, test } from './harness/fixtures';

const NAMES =
  /kim|lee|vera|oscar|job-\w+|default|Glim|GPU|YAML|secrets|docs\/job-spec\.md|train(\.py)?|python|CEST?|Ctrl/;

test('@main form, YAML and command follow each other, and the job that is submitted is that one', async ({
  cluster,
  page,
  signIn,
}) => {
  await signIn('user', '/submit');
  const yaml = page.getByLabel('The same as YAML');
  const command = page.getByLabel('The same as a command');
  await expect(page.getByText('The folder that it runs in is missing.').first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Submit…' })).toBeDisabled();
  await yaml.fill('# kept\nname: job-yaml\nrun: sleep 600\n');
  await page.getByLabel('Folder that it runs in').fill(cluster.info.jobs);
  await page.getByLabel('Nodes', { exact: true }).fill('2');
  await expect(command).toHaveValue(`cd ${cluster.info.jobs} && glim submit --name job-yaml --nodes 2 -- 'sleep 600'`);
  await expect(yaml).toHaveValue(/^# kept\nname: job-yaml\nrun: sleep 600\nworkdir: .*\nnodes: 2\n$/);
  await command.fill(`cd ${cluster.info.jobs} && glim submit --name job-line --nodes 1 -- sleep 600`);
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('job-line');
  await expect(yaml).toHaveValue(/nodes: 1\n/);
  const plan = page.getByRole('region', { name: 'What it would come to now' });
  await expect(plan).toContainText('starts now');
  await page.getByRole('button', { name: 'Submit…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('starts now');
  await dialog.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('job-line');
  expect(new URL(page.url()).search).toBe('');
});

test('says whom it would interrupt and at what cost, or that it would wait', async ({ cluster, page, signIn }) => {
  const low = await cluster.submit({ name: 'job-low', nodes: 4, priority: 'low', user: 'lee' });
  await signIn('user', '/submit');
  await page.getByLabel('Folder that it runs in').fill(cluster.info.jobs);
  const plan = page.getByRole('region', { name: 'What it would come to now' });
  await page.getByLabel('Class').selectOption('high');
  await expect(plan.getByRole('table')).toContainText('job-low');
  await expect(plan.getByRole('table')).toContainText('GPU-hours');
  await expect(plan).toContainText(`interrupting job ${low}`);
  await page.getByLabel('Class').selectOption('low');
  await expect(plan).toContainText('It would wait.');
  await expect(plan.getByRole('table')).toHaveCount(0);
});

test('a fault stands at its field, with what helps', async ({ cluster, page, signIn, watch }) => {
  await signIn('user', '/submit');
  const workdir = page.getByLabel('Folder that it runs in');
  await workdir.fill('relative/path');
  await expect(page.locator('[data-field=workdir]')).toContainText('Begin with a slash');
  await expect(workdir).toHaveAttribute('aria-invalid', 'true');
  await workdir.fill(cluster.info.jobs);
  watch.allow(REFUSED);
  await page.getByLabel('Time to save when interrupted').fill('1000m');
  await expect(page.locator('[data-field="interrupt.grace"]')).toContainText('use at most 5m');
  await page.getByLabel('The same as YAML').fill('name: [a');
  await expect(page.getByText('The text is not valid YAML.').first()).toBeVisible();
});

test('a value that looks secret is warned of, and secrets are chosen by name', async ({ cluster, page, signIn }) => {
  await cluster.text(['secret', 'set', 'job-key'], { user: 'kim', stdin: 'hush-hush' });
  await signIn('user', '/submit');
  await page.getByLabel('job-key').check();
  const yaml = page.getByLabel('The same as YAML');
  await expect(yaml).toHaveValue(/secrets:\n {2}- job-key\n/);
  await yaml.fill('name: job-a\nrun: x\nenv: {HF_TOKEN: abc}\n');
  await expect(page.getByText('HF_TOKEN', { exact: true })).toBeVisible();
  expect(await page.content()).not.toContain('hush-hush');
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(kept).not.toContain('HF_TOKEN');
  expect(page.url()).not.toContain('HF_TOKEN');
  await cluster.text(['secret', 'rm', 'job-key'], { user: 'kim' });
});

test('a viewer submits nothing', async ({ page, signIn }) => {
  await signIn('viewer', '/submit');
  await expect(page.getByText('You have no right to see this.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Submit' })).toHaveCount(0);
});

test('is good to look at for everybody', async ({ cluster, page, signIn }) => {
  await cluster.submit({ name: 'job-low', nodes: 4, priority: 'low', user: 'lee' });
  await signIn('user', '/submit');
  await expect(page.getByText('No plan yet')).toBeVisible();
  await expectGoodPage(page, NAMES);
  await page.evaluate(() => localStorage.setItem('glim-language', 'en'));
  await page.reload();
  await page.getByLabel('Folder that it runs in').fill(cluster.info.jobs);
  await page.getByLabel('Class').selectOption('high');
  await expect(page.getByRole('table')).toBeVisible();
  await expectGoodPage(page, NAMES);
});
