import { Cluster } from './harness/cluster';
import { expect, test } from './harness/fixtures';
import { SimAgents } from './harness/simAgents';

const STEP = 9007199254740991n; // the largest that the scheduler takes
const ID = '9007199254740993'; // as a number of JavaScript it is ...992

test('1,250 nodes without identity: no sign-in, and numbers as the command line has them, digit for digit', async ({
  page,
}) => {
  const many = await Cluster.start({ insecure: true, nodes: {} });
  await many.ask('set_next_job', { number: ID });
  const agents = await SimAgents.start(many, { nodes: 1250, step: () => STEP });
  try {
    await many.submit({ name: 'job-of-many', nodes: 200, user: 'anonymous' }); // as a browser is there
    expect(await many.text(['-o', 'json', 'queue'])).toContain(`"id":${ID},`);
    await page.goto(`${many.url}/queue`);
    const row = page.locator(`[data-key="${ID}"]`);
    await expect(row).toContainText('running');
    await row.getByRole('link', { name: ID }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText(`Job ${ID} job-of-many`);
    await expect(page.getByText('1,600')).toBeVisible();
    await expect(page.getByText('9,007,199,254,740,991').first()).toBeVisible();
    expect(await many.text(['-o', 'json', 'status', ID])).toContain(`"last_step":${STEP},`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('cancelled');
    expect(await many.text(['-o', 'json', 'status', ID])).toContain('"state":"cancelled"');
  } finally {
    await page.close();
    agents.stop();
    await many.stop();
  }
});
