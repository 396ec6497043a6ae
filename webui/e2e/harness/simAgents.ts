// Many nodes in one process, each with a real stream to the scheduler of an insecure cluster: what they are told to
// run they report as running, step by step, until they are asked to stop. Nothing of a task exists.
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { fileURLToPath } from 'node:url';
import type { Cluster } from './cluster';

const PROTO = fileURLToPath(new URL('../../../proto', import.meta.url));
const STREAMS_A_CHANNEL = 90;
const STEP_MS = 1_000;
const stepOf = (ranForMs: number) => Math.floor(ranForMs / STEP_MS);
const BATCH = 200; // nodes that connect at a time

interface Ref {
  job_id: string;
  number: number;
}
interface Task {
  attempt: Ref;
  index: number;
  began: number;
  firstRank: number;
}
interface Wanted {
  attempt: Ref;
  index: number;
  launch?: { first_rank: number } | null;
  interrupt?: { withdrawn: boolean } | null;
  stop?: object | null;
}
type Stream = grpc.ClientDuplexStream<object, { welcome?: { report_every_ms: string }; desired?: Desired }>;
interface Desired {
  epoch: string;
  revision: string;
  tasks: Wanted[];
}

export interface SimOptions {
  nodes: number;
  zones?: string[]; // nodes are dealt to them in turn
  leaves?: number; // of a zone
  gpus?: number;
  pool?: string;
  step?: (ranForMs: number) => number | bigint; // that a task tells after so long; default: one a second
}

// The name of a simulated node; numbers begin at 1.
export const simName = (number: number) => `sim-${String(number).padStart(5, '0')}`;

export class SimAgents {
  private readonly clients: grpc.Client[] = [];
  private readonly agents: Agent[] = [];

  static async start(cluster: Cluster, options: SimOptions): Promise<SimAgents> {
    const all = new SimAgents();
    const loaded = loadSync('glim/v1/agent_api.proto', {
      includeDirs: [PROTO],
      keepCase: true,
      longs: String,
      defaults: true,
    });
    const { glim } = grpc.loadPackageDefinition(loaded) as unknown as {
      glim: { v1: { AgentApi: grpc.ServiceClientConstructor } };
    };
    for (let from = 1; from <= options.nodes; from += BATCH) {
      const waits: Promise<void>[] = [];
      for (let number = from; number < from + BATCH && number <= options.nodes; number++) {
        if ((number - 1) % STREAMS_A_CHANNEL === 0) {
          all.clients.push(
            new glim.v1.AgentApi(cluster.info.agents, grpc.credentials.createInsecure(), {
              'grpc.use_local_subchannel_pool': 1,
            }),
          );
        }
        const client = all.clients.at(-1) as grpc.Client & { Sync(): Stream };
        const agent = new Agent(
          client.Sync(),
          helloOf(number, cluster.info.cluster_id, options),
          options.step ?? stepOf,
        );
        all.agents.push(agent);
        waits.push(agent.known);
      }
      await Promise.all(waits);
    }
    return all;
  }

  // One node's stream ends, as if its machine was off; the scheduler finds it silent after a while.
  cut(number: number): void {
    this.agents[number - 1]?.end();
  }

  stop(): void {
    for (const agent of this.agents) agent.end();
    for (const client of this.clients) client.close();
  }
}

function helloOf(number: number, cluster_id: string, options: SimOptions) {
  const { zones = ['A', 'B'], leaves = 16, gpus = 8, pool = 'default' } = options;
  const zone = zones[number % zones.length] ?? 'A';
  const name = simName(number);
  return {
    protocol_version: 1,
    cluster_id,
    node_name: name,
    machine_id: `machine-of-${name}`,
    boot_id: 'boot-1',
    labels: {
      pool,
      zone,
      leaf: `${zone}${Math.floor(number / zones.length) % leaves}`,
      gpu_type: 'A100',
      gpu_count: gpus,
      nvlink: 'none',
      nic: 'infiniband',
      simulated_gpus: true,
    },
    address: '127.0.0.1',
    agent_version: '0.1.0',
    runtime: 'process',
  };
}

class Agent {
  readonly known: Promise<void>; // the scheduler has told what it wants
  private tasks: Task[] = [];
  private gone: Task[] = [];
  private at = { epoch: '0', revision: '0' };
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly stream: Stream,
    hello: object,
    private readonly step: (ranForMs: number) => number | bigint,
  ) {
    this.known = new Promise((done, fail) => {
      stream.on('data', (message) => {
        if (message.welcome) this.timer = setInterval(() => this.report(), Number(message.welcome.report_every_ms));
        if (!message.desired) return;
        this.take(message.desired);
        done();
      });
      stream.on('error', fail);
    });
    this.known.catch(() => {});
    stream.write({ hello });
  }

  end(): void {
    if (this.timer) clearInterval(this.timer);
    this.stream.cancel();
  }

  private take({ epoch, revision, tasks }: Desired): void {
    this.at = { epoch, revision };
    const before = [...this.tasks, ...this.gone];
    const is = (one: Task, wanted: Wanted) =>
      one.attempt.job_id === wanted.attempt.job_id &&
      one.attempt.number === wanted.attempt.number &&
      one.index === wanted.index;
    this.tasks = [];
    this.gone = [];
    for (const wanted of tasks) {
      const { attempt, index } = wanted;
      const firstRank = wanted.launch?.first_rank ?? index;
      const known = before.find((one) => is(one, wanted)) ?? { attempt, index, firstRank, began: Date.now() };
      const leaves = wanted.stop || (wanted.interrupt && !wanted.interrupt.withdrawn);
      (leaves ? this.gone : this.tasks).push(known);
    }
    this.report();
  }

  private report(): void {
    const tasks = [
      ...this.tasks.map((task) => this.observed(task, false)),
      ...this.gone.map((task) => this.observed(task, true)),
    ];
    this.stream.write({ report: { ...this.at, tasks } });
  }

  private observed({ attempt, index, began, firstRank }: Task, over: boolean) {
    const step = String(this.step(Date.now() - began));
    const rank = {
      rank: firstRank,
      connected: !over,
      step,
      step_ms: STEP_MS,
      hold: -1,
      restored_step: -1,
      exited: over,
    };
    return { attempt, index, phase: over ? 'RELEASED' : 'RUNNING', ranks: [rank] };
  }
}
