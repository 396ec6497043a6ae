// A real cluster, started by cluster.py: `Cluster.start()`, or `Cluster.of(info)` of one that runs.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type RoleName = 'viewer' | 'user' | 'operator' | 'admin';

export type StoryUser = 'ana' | 'ben';

export interface ClusterInfo {
  control: string;
  url: string; // of the page
  agents: string; // HOST:PORT for agents
  cluster_id: string;
  metrics: string;
  jobs: string; // a folder in which jobs may run
  bin: string; // the folder of the programs
  secure: boolean;
}

export interface StartOptions {
  insecure?: boolean; // without TLS and identity: for simulated agents
  nodes?: Record<string, [zone: string, leaf: string]>; // real agents; default: n1, n2 in zone A, n3, n4 in zone B
  story?: boolean; // as deploy/quickstart starts it: in containers where that can be, with users ana and ben
  config?: string[]; // lines below the scheduler's `policy:`
  smallDisk?: boolean; // the store is on a disk of its own, which `fill_disk` fills and `make_room` empties
  kernelLogs?: boolean; // agents look after their hardware, of which there is none but what `gpu_falls_off` says
  agentOptions?: string[]; // words for each agent: '--log-file-bytes=1GiB'
}

const PROGRAM = fileURLToPath(new URL('./cluster.py', import.meta.url));

export interface Answer {
  code: number;
  stdout: string;
  stderr: string;
}

export class Cluster {
  private constructor(
    readonly info: ClusterInfo,
    private readonly process: ChildProcess | null,
  ) {}

  static of(info: ClusterInfo): Cluster {
    return new Cluster(info, null);
  }

  static async start(options: StartOptions = {}): Promise<Cluster> {
    const { insecure, story, nodes, config = [], smallDisk, kernelLogs, agentOptions = [] } = options;
    const flags = [...(insecure ? ['--insecure'] : []), ...(story ? ['--story'] : [])];
    const args = [PROGRAM, ...flags, ...config.flatMap((line) => ['--config', line])];
    args.push(...agentOptions.map((word) => `--agent-option=${word}`));
    if (smallDisk) args.push('--small-disk');
    if (kernelLogs) args.push('--kernel-logs');
    if (nodes) args.push('--nodes', JSON.stringify(nodes));
    const child = spawn('/usr/bin/python3', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
      return new Cluster(JSON.parse(line) as ClusterInfo, child);
    }
    throw new Error('the cluster did not start: its words are above');
  }

  async stop(): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.stdin?.end();
    await ended;
  }

  get url(): string {
    return this.info.url;
  }

  // What cluster.py has a method for.
  async ask<T>(name: string, words: object = {}): Promise<T> {
    const answer = await fetch(this.info.control, { method: 'POST', body: JSON.stringify({ do: name, ...words }) });
    const result = (await answer.json()) as T & { error?: string };
    if (!answer.ok) throw new Error(result.error);
    return result;
  }

  code(role: RoleName | StoryUser): Promise<string> {
    return this.ask<string>('code', { role });
  }

  glim(args: string[], words: { user?: string; stdin?: string } = {}): Promise<Answer> {
    return this.ask<Answer>('glim', { args, ...words });
  }

  // Its text on stdout; fails where the command does.
  async text(args: string[], words: { user?: string; stdin?: string } = {}): Promise<string> {
    const { code, stdout, stderr } = await this.glim(args, words);
    if (code !== 0) throw new Error(`glim ${args.join(' ')}: exit code ${code}\n${stderr}`);
    return stdout;
  }

  async json<T>(args: string[], words: { user?: string } = {}): Promise<T> {
    return JSON.parse(await this.text(['-o', 'json', ...args], words)) as T;
  }

  // Submits one job through the command line; returns its number.
  async submit(job: { name?: string; run?: string; nodes?: number; priority?: string; user?: string } = {}) {
    const { user = 'kim', run = 'exec sleep 600', ...rest } = job;
    const spec = { name: 'job', nodes: 1, ...rest, run, workdir: this.info.jobs };
    const answer = await this.text(['-o', 'json', 'submit', '-'], { user, stdin: JSON.stringify(spec) });
    return (JSON.parse(answer) as { job_ids: number[] }).job_ids[0] ?? 0;
  }

  // A metric of the scheduler's, summed over its series; `labels` is a part of what stands between the braces.
  async metric(name: string, labels = ''): Promise<number> {
    const text = await (await fetch(this.info.metrics)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith(name) && /[ {]/.test(line[name.length] ?? '') && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }
}
