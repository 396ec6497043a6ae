// What the page of a node asks beside the stream, and what it does.
import { useQuery } from '@tanstack/react-query';
import { api, ask, type Schemas } from '../../api/client';
import { askLines } from '../../api/raw';
import type { Step } from '../../api/step';
import type { EventRow } from '../../live/types';
import { holdersOf, type Sample } from './history';

export type Victim = Schemas['Victim'];

const SAMPLES = 24;
const at = (node: string) => ({ params: { path: { node } } });

// What happened to the node, as far back as it is kept; what comes by the stream is laid over it.
export function useNodeEvents(node: string) {
  return useQuery({
    queryKey: ['node', node, 'events'],
    queryFn: ({ signal }) => askLines<EventRow>('/v1/events', { node }, signal),
  });
}

// With its inventory and the newest events of its health checks, which the stream leaves out. Asked for anew when
// `again` changes.
export function useWholeNode(node: string, again: string) {
  return useQuery({
    queryKey: ['node', node, 'whole', again],
    queryFn: async ({ signal }) => {
      const { nodes } = await ask(api.GET('/v1/nodes', { params: { query: { name: node } }, signal }));
      return nodes.find(({ name }) => name === node) ?? null;
    },
    placeholderData: (before) => before,
  });
}

// Who had the node: the cluster is asked for at moments of the past, one after the other.
export function useHolders(node: string, spanMs: number) {
  return useQuery({
    queryKey: ['node', node, 'holders', spanMs],
    queryFn: async ({ signal }) => {
      const now = Date.now();
      const samples: Sample[] = [];
      for (let index = 0; index <= SAMPLES; index++) {
        const at_ms = Math.round(now - spanMs + (spanMs * index) / SAMPLES);
        const then = await ask(api.GET('/v1/cluster', { params: { query: { at_ms } }, signal }));
        const found = then.nodes.find(({ name }) => name === node);
        samples.push({
          atMs: at_ms,
          complete: then.complete,
          state: found?.state ?? '',
          job: found?.holder?.job_id ?? null,
        });
      }
      return holdersOf(samples);
    },
    enabled: spanMs > 0,
    staleTime: 60_000,
  });
}

interface Taken {
  reason: string;
  for_ms: number;
}
export const cordonNode = (node: string, taken: Taken, step: Step) =>
  ask(api.POST('/v1/nodes/{node}/cordon', { ...at(node), body: { ...taken, ...step } }));

export const drainNode = (node: string, taken: Taken & { deadline_ms: number }, step: Step) =>
  ask(api.POST('/v1/nodes/{node}/drain', { ...at(node), body: { ...taken, ...step } }));

export const uncordonNode = (node: string, step: Step) =>
  ask(api.POST('/v1/nodes/{node}/uncordon', { ...at(node), body: step }));

export const validateNode = (node: string, dry_run: boolean) =>
  ask(api.POST('/v1/nodes/{node}/validate', { ...at(node), body: { dry_run } }));

export const returnNode = (node: string) => ask(api.POST('/v1/nodes/{node}/return', { ...at(node), body: {} }));
