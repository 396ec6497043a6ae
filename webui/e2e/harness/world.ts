// Clusters with something on them, for pictures: of those who read the docs, and of tests that compare them.
import { expect } from '@playwright/test';
import type { Cluster } from './cluster';
import { SimAgents, simName } from './simAgents';
import { TRAINING } from './training';

export interface World {
  training: number; // was interrupted once, and runs again
  waits: number;
  failed: number; // with a traceback in its log
}

interface Job {
  job: { state: string; attempts: { state: string; last_step: number }[] };
}

// Four real nodes: training that made room for a release's test, a node that is out, jobs that wait, some that ended.
export async function fill(cluster: Cluster): Promise<World> {
  await cluster.text(['admin', 'team', 'add', 'vision']);
  for (const user of ['kim', 'lee']) await cluster.text(['admin', 'user', 'set', user, '--team', 'vision', '-y']);
  await cluster.text(['admin', 'quota', 'set', 'user:kim', 'normal', '8', '-y']);
  await cluster.text(['admin', 'quota', 'set', 'user:kim', 'high', '4', '-y']);
  await cluster.text(['admin', 'quota', 'set', 'team:vision', 'high', '8', '-y']);
  for (const [name, user] of [
    ['data-clean', 'kim'],
    ['eval-code', 'lee'],
  ] as const) {
    await cluster.text(['wait', String(await cluster.submit({ name, user, nodes: 2, run: 'echo done; sleep 2' }))]);
  }
  const failed = await cluster.submit({
    name: 'eval-math',
    run: `seq -f 'sample %.0f of 400' 1 400; python3 -c 'raise KeyError("answer")'`,
  });
  const state = async (id: number) => (await cluster.json<Job>(['status', String(id)])).job;
  await expect.poll(async () => (await state(failed)).state).toBe('failed');
  const training = await cluster.submit({ name: 'train-7b', nodes: 2, run: TRAINING });
  await expect.poll(async () => (await state(training)).attempts[0]?.last_step).toBeGreaterThan(60);
  const urgent = await cluster.submit({
    name: 'test-release',
    user: 'lee',
    nodes: 4,
    priority: 'high',
    run: 'sleep 3',
  });
  await cluster.text(['wait', String(urgent)]);
  await expect.poll(async () => (await state(training)).attempts[1]?.state).toBe('running');
  const nodes = await cluster.json<{ nodes: { name: string; holder: unknown }[] }>(['nodes']);
  const free = nodes.nodes.filter((node) => !node.holder).map(({ name }) => name);
  await cluster.text(['admin', 'node', 'drain', free[0]!, '--reason', 'a fan that rattles', '-y'], { user: 'oscar' });
  await cluster.submit({ name: 'sweep-lr', user: 'lee', priority: 'low' });
  const waits = await cluster.submit({ name: 'train-vl', user: 'lee', nodes: 2 });
  await expect.poll(async () => (await state(training)).attempts[1]?.last_step).toBeGreaterThan(120);
  return { training, waits, failed };
}

export const SIMULATED = 240;
const JOBS: [name: string, user: string, nodes: number, priority: string][] = [
  ['rl-math', 'max', 40, 'high'],
  ['pretrain-30b', 'kim', 64, 'normal'],
  ['pretrain-vl', 'lee', 32, 'normal'],
  ['finetune-code', 'ana', 16, 'normal'],
  ['distill-3b', 'ben', 12, 'normal'],
  ['eval-suite', 'eva', 8, 'low'],
  ['sweep-lr', 'eva', 6, 'low'],
  ['data-clean', 'max', 4, 'low'],
];
const WAITING: typeof JOBS = [
  ['pretrain-70b', 'lee', 96, 'normal'],
  ['ablation-moe', 'kim', 80, 'normal'],
  ['eval-long', 'ben', 64, 'low'],
];

// Many simulated nodes: jobs of all sizes, a few nodes out, and jobs that wait for more than there is.
export async function fillMany(cluster: Cluster): Promise<{ agents: SimAgents; waits: number }> {
  const agents = await SimAgents.start(cluster, { nodes: SIMULATED, leaves: 4 });
  for (const [node, reason] of [
    [17, 'a fan that rattles'],
    [96, 'new firmware'],
  ] as const) {
    await cluster.text(['admin', 'node', 'cordon', simName(node), '--reason', reason, '-y'], { user: 'oscar' });
  }
  const submit = async (all: typeof JOBS) => {
    let last = 0;
    for (const [name, user, nodes, priority] of all) last = await cluster.submit({ name, user, nodes, priority });
    return last;
  };
  await submit(JOBS);
  const running = async () => {
    const { jobs } = await cluster.json<{ jobs: { state: string }[] }>(['queue']);
    return jobs.filter(({ state }) => state === 'running').length;
  };
  await expect.poll(running).toBe(JOBS.length);
  const waits = await submit(WAITING);
  agents.cut(31);
  return { agents, waits: waits - 1 };
}
