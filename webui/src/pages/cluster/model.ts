// What the map and the table show: one tile a node, made of the rows of nodes and of jobs. Pure but for what it
// remembers: tiles keep their identity until they change, so that only what is another one is painted anew.
import type { Int } from '../../api/int';
import type { NodeRow, QueueRow } from '../../live/types';

export const USES = ['running', 'starting', 'stopping', 'claimed', 'free'] as const;
export const OUT = ['cordoned', 'draining', 'drained', 'faulty', 'silent', 'quarantined', 'refused', 'lost'] as const;
export const TILE_STATES = [...USES, ...OUT] as const;
export type TileState = (typeof TILE_STATES)[number];

export const isOut = (state: TileState) => (OUT as readonly string[]).includes(state);

// Of a node, what tiles are made of: a row of the stream, or what is known of a moment in the past.
export type NodeFacts = Pick<
  NodeRow,
  'name' | 'labels' | 'state' | 'message' | 'holder' | 'claim' | 'fault' | 'cordon' | 'suspect_why' | 'reserved'
>;
export type JobFacts = Pick<QueueRow, 'id' | 'name' | 'user' | 'team' | 'priority' | 'state' | 'gpus_per_node'>;

export interface Sources {
  nodes: Map<string, NodeFacts>;
  jobs: Map<string, JobFacts>;
  reserved?: ReadonlyMap<string, readonly string[]> | null; // newer than what the nodes' rows say
}

export interface Tile {
  name: string;
  zone: string;
  leaf: string;
  pool: string;
  gpus: number;
  used: number; // GPUs that its job has
  simulated: boolean;
  state: TileState;
  job: Int | null; // that has the node
  next: Int | null; // that gets it
  jobName: string;
  user: string;
  team: string;
  priority: string;
  reserved: readonly string[];
  node: NodeFacts;
}

export interface Place {
  name: string;
  zone: string;
  leaf: string;
}

export interface View {
  places: readonly Place[]; // by zone, leaf and name; the same array while nodes neither come nor go
  tiles: readonly Tile[]; // in the order of the places
}

const NOT_RESERVED: readonly string[] = [];
const STARTING = ['claimed', 'starting', 'queued'];
const compareNames = new Intl.Collator('en', { numeric: true }).compare;

// The state of a node in words of `nodeStates`: what an operator did counts where the node is well.
export function nodeStateOf(node: Pick<NodeFacts, 'state' | 'fault' | 'cordon'>): string {
  if (node.state !== 'ready') return node.state;
  if (node.cordon) return !node.cordon.drain ? 'cordoned' : node.cordon.drained ? 'drained' : 'draining';
  return node.fault ? 'faulty' : 'ready';
}

function tileStateOf(node: NodeFacts, job: JobFacts | undefined): TileState {
  const state = nodeStateOf(node);
  if (state !== 'ready') return (OUT as readonly string[]).includes(state) ? (state as TileState) : 'lost';
  if (!node.holder) return node.claim ? 'claimed' : 'free';
  if (!job || job.state === 'running') return 'running';
  return STARTING.includes(job.state) ? 'starting' : 'stopping';
}

export function tileOf(node: NodeFacts, job: JobFacts | undefined, reserved: readonly string[] = node.reserved): Tile {
  const { labels, holder } = node;
  const gpus = Number(labels?.gpu_count ?? 0);
  return {
    name: node.name,
    zone: labels?.zone ?? '',
    leaf: labels?.leaf ?? '',
    pool: labels?.pool ?? '',
    gpus,
    used: holder ? Math.min(gpus, Number(job?.gpus_per_node ?? gpus)) : 0,
    simulated: labels?.simulated_gpus ?? false,
    state: tileStateOf(node, job),
    job: holder?.job_id ?? null,
    next: node.claim?.job_id ?? null,
    jobName: holder ? (job?.name ?? '') : '',
    user: holder ? (job?.user ?? '') : '',
    team: holder ? (job?.team ?? '') : '',
    priority: holder ? (job?.priority ?? '') : '',
    reserved,
    node,
  };
}

export class ViewMaker {
  private view: View = { places: [], tiles: [] };
  private made: { node: NodeFacts; job: JobFacts | undefined; reserved: readonly string[] }[] = [];

  of({ nodes, jobs, reserved }: Sources): View {
    const jobOf = (node: NodeFacts) => (node.holder ? jobs.get(String(node.holder.job_id)) : undefined);
    const madeOf = (node: NodeFacts) => ({
      node,
      job: jobOf(node),
      reserved: reserved ? (reserved.get(node.name) ?? NOT_RESERVED) : node.reserved,
    });
    if (!this.hasPlacesOf(nodes))
      return this.begin([...nodes.values()].map(placeOf).sort(comparePlaces), nodes, madeOf);
    let tiles: Tile[] | null = null;
    this.view.places.forEach(({ name }, at) => {
      const node = nodes.get(name)!;
      const made = madeOf(node);
      const before = this.made[at];
      if (before?.node === node && before.job === made.job && before.reserved === made.reserved) return;
      this.made[at] = made;
      tiles ??= [...this.view.tiles];
      tiles[at] = tileOf(node, made.job, made.reserved);
    });
    if (tiles) this.view = { places: this.view.places, tiles };
    return this.view;
  }

  private hasPlacesOf(nodes: Map<string, NodeFacts>): boolean {
    const { places } = this.view;
    if (places.length !== nodes.size) return false;
    return places.every(({ name, zone, leaf }, at) => {
      const node = nodes.get(name);
      if (node === this.made[at]?.node) return node !== undefined;
      return node !== undefined && (node.labels?.zone ?? '') === zone && (node.labels?.leaf ?? '') === leaf;
    });
  }

  private begin(
    places: Place[],
    nodes: Map<string, NodeFacts>,
    madeOf: (node: NodeFacts) => (typeof this.made)[number],
  ): View {
    this.made = places.map(({ name }) => madeOf(nodes.get(name)!));
    this.view = { places, tiles: this.made.map(({ node, job, reserved }) => tileOf(node, job, reserved)) };
    return this.view;
  }
}

function placeOf({ name, labels }: NodeFacts): Place {
  return { name, zone: labels?.zone ?? '', leaf: labels?.leaf ?? '' };
}

function comparePlaces(a: Place, b: Place): number {
  return compareNames(a.zone, b.zone) || compareNames(a.leaf, b.leaf) || compareNames(a.name, b.name);
}

export interface Crossing {
  job: Int;
  name: string;
  zones: [zone: string, nodes: number][];
}

// Jobs whose nodes are in more than one zone: they use the link between them.
export function crossings(tiles: readonly Tile[]): Crossing[] {
  const jobs = new Map<string, { job: Int; name: string; zones: Map<string, number> }>();
  for (const { job, jobName, zone } of tiles) {
    if (job === null) continue;
    const key = String(job);
    let one = jobs.get(key);
    if (!one) jobs.set(key, (one = { job, name: jobName, zones: new Map() }));
    one.zones.set(zone, (one.zones.get(zone) ?? 0) + 1);
  }
  return [...jobs.values()]
    .filter(({ zones }) => zones.size > 1)
    .map(({ job, name, zones }) => ({ job, name, zones: [...zones].sort() }));
}

// Reservations, with how many nodes each has.
export function reservations(tiles: readonly Tile[]): [words: string, nodes: number][] {
  const all = new Map<string, number>();
  for (const { reserved } of tiles) for (const words of reserved) all.set(words, (all.get(words) ?? 0) + 1);
  return [...all];
}
