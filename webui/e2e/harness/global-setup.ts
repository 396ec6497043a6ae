// One cluster for all tests that need no other.
import { Cluster } from './cluster';

export default async function start(): Promise<() => Promise<void>> {
  const cluster = await Cluster.start();
  process.env.GLIM_E2E_CLUSTER = JSON.stringify(cluster.info);
  return () => cluster.stop();
}
