// Where the map's nodes and jobs come from: the stream, or what the scheduler tells of a moment in the past.
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, ask, type Schemas } from '../../api/client';
import type { Live } from '../../live/client';
import { useTopic } from '../../live/hooks';
import type { JobDetail } from '../../live/types';
import { useReserved } from '../admin/reserved';
import { ViewMaker, type JobFacts, type NodeFacts, type View } from './model';

type Past = Schemas['GetClusterAtResponse'];
interface Rows<Row> {
  ready: boolean;
  rows: Map<string, Row>;
  version: number;
}

const NONE = { ready: false, rows: new Map<string, never>(), version: -1 };
const PAGE = 1_000;
const JOBS_MAX = 5_000; // of ended jobs, whose names and users are asked for

// The rows as they lie in the store, unsorted: lists of 10,000 are not made four times a second.
const rowsOf = (live: Live | null): Rows<unknown> =>
  live?.ready ? { ready: true, rows: live.rows, version: live.version } : NONE;
const isSame = (a: Rows<unknown>, b: Rows<unknown>) => a.rows === b.rows && a.version === b.version;

function useRows<Row>(topic: string): Rows<Row> {
  return useTopic(topic, rowsOf, isSame) as Rows<Row>;
}

export interface Shown {
  ready: boolean;
  view: View;
  past: Past | null; // null: live
  error: unknown;
  asking: boolean;
}

// `atMs` 0: now.
export function useCluster(atMs: number): Shown {
  const nodes = useRows<NodeFacts>('nodes');
  const jobs = useRows<JobFacts>('queue');
  const past = usePast(atMs);
  const ended = useEnded(atMs > 0);
  const [makers] = useState(() => ({ live: new ViewMaker(), past: new ViewMaker() }));
  const reserved = useReserved();
  const live = useMemo(
    () => makers.live.of({ nodes: nodes.rows, jobs: jobs.rows, reserved }),
    [makers, nodes, jobs, reserved],
  );
  const then = useMemo(() => {
    if (!past.data) return null;
    return makers.past.of(sourcesOf(past.data, nodes.rows, new Map([...(ended.data ?? []), ...jobs.rows])));
    // The live rows are looked at when the answer comes: they say where a node is, and whose a job is.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [makers, past.data, ended.data]);
  const isPast = atMs > 0;
  return {
    ready: nodes.ready && (jobs.ready || nodes.rows.size === 0) && (!isPast || then !== null || past.isError),
    view: isPast && then ? then : live,
    past: isPast ? (past.data ?? null) : null,
    error: isPast ? past.error : null,
    asking: isPast && past.isFetching,
  };
}

function usePast(atMs: number) {
  return useQuery({
    queryKey: ['cluster', atMs],
    queryFn: ({ signal }) => ask(api.GET('/v1/cluster', { params: { query: { at_ms: atMs } }, signal })),
    enabled: atMs > 0,
    staleTime: Infinity,
    gcTime: 60_000,
    placeholderData: (before) => before,
  });
}

// Jobs that are over by now, for their names and users.
function useEnded(wanted: boolean) {
  return useQuery({
    queryKey: ['cluster', 'ended'],
    queryFn: async ({ signal }) => {
      const jobs = new Map<string, JobFacts>();
      let page_token = '';
      do {
        const query = { all: true, page_size: PAGE, page_token };
        const page = await ask(api.GET('/v1/jobs', { params: { query }, signal }));
        for (const job of page.jobs) jobs.set(String(job.id), factsOfJob(job));
        page_token = page.next_page_token;
      } while (page_token && jobs.size < JOBS_MAX);
      return jobs;
    },
    enabled: wanted,
    staleTime: 30_000,
  });
}

function factsOfJob(job: JobDetail): JobFacts {
  const { id, user, team, priority, state, spec } = job;
  return { id, user, team, priority, state, name: spec?.name ?? '', gpus_per_node: spec?.gpus_per_node ?? 0 };
}

// What was then, with the places of now: labels are not in the events.
export function sourcesOf(past: Past, nodesNow: Map<string, NodeFacts>, jobsNow: Map<string, JobFacts>) {
  const jobs = new Map<string, JobFacts>();
  for (const { id, state } of past.jobs) {
    const now = jobsNow.get(String(id));
    jobs.set(String(id), {
      id,
      state,
      name: now?.name ?? '',
      user: now?.user ?? '',
      team: now?.team ?? '',
      priority: now?.priority ?? '',
      gpus_per_node: now?.gpus_per_node ?? Number.MAX_SAFE_INTEGER,
    });
  }
  const nodes = new Map<string, NodeFacts>();
  for (const { name, state, holder } of past.nodes) {
    const labels = nodesNow.get(name)?.labels ?? null;
    nodes.set(name, {
      name,
      labels,
      state,
      holder,
      message: '',
      claim: null,
      fault: '',
      cordon: null,
      suspect_why: '',
      reserved: [],
    });
  }
  return { nodes, jobs };
}
