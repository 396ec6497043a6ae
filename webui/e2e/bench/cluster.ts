// A cluster of simulated nodes without identity, and requests to it as somebody.
import { Cluster } from '../harness/cluster';
import { SimAgents, type SimOptions } from '../harness/simAgents';

const AT_ONCE = 16;

export async function withNodes(options: SimOptions, use: (cluster: Cluster) => Promise<void>): Promise<void> {
  const cluster = await Cluster.start({ insecure: true, nodes: {} });
  try {
    const agents = await SimAgents.start(cluster, options);
    try {
      await use(cluster);
    } finally {
      agents.stop();
    }
  } finally {
    await cluster.stop();
  }
}

export async function post<T>(cluster: Cluster, path: string, body: object, user = 'root', type = 'json'): Promise<T> {
  const headers = { 'Content-Type': `application/${type}`, 'Glim-User': user };
  const answer = await fetch(cluster.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

// One-node jobs of a hundred users: as many as there are nodes run, the others wait.
export async function submitMany(cluster: Cluster, jobs: number): Promise<void> {
  let next = 0;
  const some = async () => {
    for (let at = next++; at < jobs; at = next++) {
      const spec = { name: `job-${at}`, nodes: 1, run: 'exec sleep 600', workdir: cluster.info.jobs };
      await post(cluster, '/v1/jobs', spec, `user${at % 100}`, 'yaml');
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}
