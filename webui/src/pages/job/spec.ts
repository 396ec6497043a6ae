// A job's spec as the file that says the same: what is left out there is left out here.
import { stringify } from 'yaml';
import type { Schemas } from '../../api/client';

type Spec = Schemas['JobSpec'];

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function tidy(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)));
}

// As job files have them; 0 and null are left out where they say nothing.
function duration(ms: number | null | undefined): string | undefined {
  if (ms === null || ms === undefined) return undefined;
  const units = [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const [unit, length] = units.find(([, one]) => ms > 0 && ms % one === 0) ?? ['ms', 1];
  return `${ms / length}${unit}`;
}

const orNone = (ms: number | null | undefined) => (ms ? duration(ms) : undefined);

function size(bytes: unknown): string | undefined {
  const units = ['GiB', 'MiB', 'KiB'];
  const amount = Number(bytes);
  if (amount === 0) return undefined;
  const at = units.findIndex((_, i) => amount % 1024 ** (3 - i) === 0);
  return at < 0 ? String(amount) : `${amount / 1024 ** (3 - at)}${units[at]}`;
}

export function jobFileOf(spec: Spec): Record<string, unknown> {
  const { interrupt, checkpoint, restart, limits } = spec;
  return tidy({
    apiVersion: 'glim/v1',
    kind: 'Job',
    name: spec.name,
    pool: spec.pool,
    team: spec.team,
    priority: spec.priority,
    nodes: spec.nodes,
    gpus_per_node: spec.gpus_per_node,
    placement: spec.placement && tidy({ ...spec.placement }),
    image: spec.image,
    workdir: spec.workdir,
    code: spec.snapshot ? 'snapshot' : undefined,
    run: spec.run,
    launcher: spec.launcher === 'per_gpu' ? 'per-gpu' : 'node',
    env: Object.fromEntries(spec.env.map(({ name, value }) => [name, value])),
    interrupt:
      interrupt &&
      tidy({
        mode: interrupt.mode,
        grace: duration(interrupt.grace_ms),
        max_grace: duration(interrupt.max_grace_ms),
        signal: interrupt.signal,
        to: interrupt.to,
      }),
    checkpoint:
      checkpoint &&
      tidy({
        dir: checkpoint.dir,
        every: orNone(checkpoint.every_ms),
        keep: checkpoint.keep || undefined,
        if_unreachable: checkpoint.if_unreachable,
      }),
    restart: restart && tidy({ on: restart.on, max: restart.max || undefined, backoff: orNone(restart.backoff_ms) }),
    mounts: spec.mounts.map((mount) => tidy({ ...mount })),
    limits: tidy({
      memory: size(limits?.memory_bytes ?? 0),
      cpus: Number(limits?.cpu_millis ?? 0) / 1_000 || undefined,
      pids: Number(limits?.pids ?? 0) || undefined,
      shm: size(limits?.shm_bytes ?? 0),
      time: orNone(spec.time_limit_ms),
    }),
    secrets: spec.secrets.map((secret) => tidy({ ...secret })),
    api: spec.api,
    notify: spec.notify && tidy({ ...spec.notify }),
    after: spec.after.map(({ job_id, when, keep }) => `${job_id}:${when || 'ok'}${keep ? ':keep' : ''}`),
  });
}

export function yamlOf(spec: Spec): string {
  return stringify(jobFileOf(spec), { lineWidth: 0, singleQuote: true });
}
