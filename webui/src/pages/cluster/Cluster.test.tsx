import { describe, expect, it } from 'vitest';
import { fitted, held, panned, showing, toMap, zoomed } from './camera';
import { Colouring, cutsOf, keyOf, lookOfSlot, type Glyph } from './colour';
import { cornerOf, layoutOf, neighbourOf, tileAt, type Layout } from './layout';
import { crossings, tileOf, ViewMaker, type JobFacts, type NodeFacts, type Place } from './model';
import { filtered, matcherOf, type MapFilters } from './select';
import { sourcesOf } from './sources';

const NO_FILTERS: MapFilters = { state: '', user: '', class: '', pool: '', zone: '', job: '', name: '' };

function node(name: string, zone = 'A', leaf = 'a1', more: Partial<NodeFacts> = {}): NodeFacts {
  const labels = { pool: 'p', zone, leaf, gpu_count: 8, simulated_gpus: true };
  return {
    name,
    labels,
    state: 'ready',
    message: '',
    holder: null,
    claim: null,
    fault: '',
    reserved: [],
    ...more,
  } as NodeFacts;
}
const job = (id: number, state = 'running', gpus_per_node = 4) =>
  ({ id, state, name: `job-${id}`, user: 'kim', team: '', priority: 'normal', gpus_per_node }) as JobFacts;
const rowsOf = (...nodes: NodeFacts[]) => new Map(nodes.map((one) => [one.name, one]));
const jobsOf = (...jobs: JobFacts[]) => new Map(jobs.map((one) => [String(one.id), one]));
const held1 = { holder: { job_id: 1, number: 1 } };

function many(count: number, zones = 2, leaves = 16): Place[] {
  const places = Array.from({ length: count }, (_, at) => {
    const zone = at % zones;
    return { name: `n${at}`, zone: `Z${zone}`, leaf: `Z${zone}-${Math.floor(at / zones) % leaves}` };
  });
  return places.sort((a, b) => a.zone.localeCompare(b.zone) || a.leaf.localeCompare(b.leaf));
}

describe('a tile', () => {
  it('says what the node does', () => {
    expect(tileOf(node('n'), undefined).state).toBe('free');
    expect(tileOf(node('n', 'A', 'a', { claim: { job_id: 2, number: 1 } }), undefined).state).toBe('claimed');
    expect(tileOf(node('n', 'A', 'a', held1), job(1))).toMatchObject({ state: 'running', used: 4, user: 'kim' });
    expect(tileOf(node('n', 'A', 'a', held1), job(1, 'starting')).state).toBe('starting');
    expect(tileOf(node('n', 'A', 'a', held1), job(1, 'interrupting')).state).toBe('stopping');
    expect(tileOf(node('n', 'A', 'a', held1), undefined)).toMatchObject({ state: 'running', used: 8 });
  });

  it('says first what keeps it from jobs', () => {
    const cordon = {
      by: 'oscar',
      reason: 'fan',
      since_ms: 1,
      until_ms: 0,
      drain: false,
      deadline_ms: 0,
      drained: false,
    };
    expect(tileOf(node('n', 'A', 'a', { ...held1, cordon }), job(1)).state).toBe('cordoned');
    expect(tileOf(node('n', 'A', 'a', { cordon: { ...cordon, drain: true } }), undefined).state).toBe('draining');
    expect(tileOf(node('n', 'A', 'a', { state: 'silent', cordon }), undefined).state).toBe('silent');
    expect(tileOf(node('n', 'A', 'a', { fault: 'disk_full' }), undefined).state).toBe('faulty');
    expect(tileOf(node('n', 'A', 'a', { state: 'of-tomorrow' }), undefined).state).toBe('lost');
  });
});

describe('the view', () => {
  it('keeps what did not change', () => {
    const maker = new ViewMaker();
    const [n1, n2] = [node('n1'), node('n2', 'B')];
    const first = maker.of({ nodes: rowsOf(n2, n1), jobs: new Map() });
    expect(first.tiles.map(({ name }) => name)).toEqual(['n1', 'n2']);
    expect(maker.of({ nodes: rowsOf(n1, n2), jobs: jobsOf(job(9)) })).toBe(first);
    const next = maker.of({ nodes: rowsOf(n1, { ...n2, ...held1 }), jobs: jobsOf(job(1)) });
    expect(next.places).toBe(first.places);
    expect(next.tiles[0]).toBe(first.tiles[0]);
    expect(next.tiles[1]).toMatchObject({ state: 'running', job: 1 });
    const moved = maker.of({ nodes: rowsOf({ ...n1, labels: { ...n1.labels!, zone: 'C' } }, n2), jobs: new Map() });
    expect(moved.tiles.map(({ zone }) => zone)).toEqual(['B', 'C']);
    expect(maker.of({ nodes: rowsOf(n1), jobs: new Map() }).tiles).toHaveLength(1);
  });

  it('takes the places of now for a moment of the past', () => {
    const past = {
      version: 2 as const,
      at_ms: 1,
      complete: true,
      nodes: [
        { name: 'n1', state: 'ready', holder: { job_id: 1, number: 1 } },
        { name: 'gone', state: 'ready', holder: null },
      ],
      jobs: [{ id: 1, state: 'running', attempt: 1, nodes: ['n1'] }],
    };
    const { tiles } = new ViewMaker().of(sourcesOf(past, rowsOf(node('n1', 'B')), jobsOf(job(1, 'queued'))));
    expect(tiles).toMatchObject([
      { name: 'gone', zone: '', state: 'free' },
      { name: 'n1', zone: 'B', state: 'running', jobName: 'job-1' },
    ]);
  });

  it('knows who crosses the link', () => {
    const rows = rowsOf(node('n1', 'A', 'a', held1), node('n2', 'B', 'b', held1), node('n3', 'B', 'b'));
    const { tiles } = new ViewMaker().of({ nodes: rows, jobs: jobsOf(job(1)) });
    expect(crossings(tiles)).toEqual([{ job: 1, name: 'job-1', zones: [['A', 1], ['B', 1]] }]); // prettier-ignore
  });

  it('is filtered', () => {
    const rows = rowsOf(node('n1', 'A', 'a', held1), node('n2', 'B'));
    const { tiles } = new ViewMaker().of({ nodes: rows, jobs: jobsOf(job(1)) });
    const names = (filters: Partial<MapFilters>) =>
      filtered(tiles, { ...NO_FILTERS, ...filters }).map((one) => one.name);
    expect(names({})).toEqual(['n1', 'n2']);
    expect(names({ user: 'kim' })).toEqual(['n1']);
    expect(names({ state: 'free' })).toEqual(['n2']);
    expect(names({ name: 'N2', zone: 'B' })).toEqual(['n2']);
    expect(names({ job: '2' })).toEqual([]);
    expect(matcherOf(NO_FILTERS)).toBeNull();
  });
});

describe('the layout', () => {
  const inside = (layout: Layout, count: number) => {
    for (let at = 0; at < count; at++) {
      const { x, y } = cornerOf(layout, at);
      expect(tileAt(layout, x + 0.5, y + 0.5)).toBe(at);
      expect(x >= 0 && y >= 0 && x + 1 <= layout.w && y + 1 <= layout.h).toBe(true);
    }
  };

  it.each([
    [1, 900, 600],
    [4, 900, 600],
    [1_250, 900, 600],
    [1_250, 340, 420],
    [10_000, 900, 600],
    [10_000, 340, 420],
  ])('of %d nodes fits into %d x %d, and each point has its node', (count, w, h) => {
    const layout = layoutOf(many(count), w, h);
    expect(layout.w * layout.scale).toBeLessThanOrEqual(w + 1);
    expect(layout.h * layout.scale).toBeLessThanOrEqual(h);
    inside(layout, count);
  });

  it('uses the room that there is', () => {
    const layout = layoutOf(many(10_000), 1_000, 600);
    expect(10_000 * layout.scale ** 2).toBeGreaterThan(0.55 * 1_000 * 600);
  });

  it('is quick', () => {
    const places = many(10_000, 2, 250);
    const began = performance.now();
    layoutOf(places, 1_000, 600);
    expect(performance.now() - began).toBeLessThan(500);
  });

  it('has neighbours for the arrow keys, over leaves and zones', () => {
    const layout = layoutOf(many(64, 2, 2), 900, 600);
    const { x, y } = cornerOf(layout, 0);
    const right = neighbourOf(layout, 0, 'right');
    expect(cornerOf(layout, right)).toEqual({ x: x + 1, y });
    expect(neighbourOf(layout, right, 'left')).toBe(0);
    expect(neighbourOf(layout, 0, 'left')).toBe(0);
    expect(neighbourOf(layout, 0, 'up')).toBe(0);
    const seen = new Set([0]);
    let at = 0;
    for (let step = 0; step < 64; step++) seen.add((at = neighbourOf(layout, at, 'right')));
    for (let step = 0; step < 64; step++) seen.add((at = neighbourOf(layout, at, 'down')));
    expect([...seen].some((one) => layout.leaves[layout.leafOf[one]!]!.zone === 'Z1')).toBe(true);
  });
});

describe('the camera', () => {
  const layout = layoutOf(many(10_000), 1_000, 600);
  const size = { w: 1_000, h: 600 };

  it('shows everything at first, and no less', () => {
    const first = fitted(layout, size, 1);
    expect(first).toEqual({ scale: layout.scale, x: 0, y: 0 });
    expect(zoomed(first, 0.5, { x: 10, y: 10 }, layout, size, 1)).toEqual(first);
    expect(panned(first, 100, -100, layout, size)).toEqual(first);
  });

  it('zooms at the point, moves by whole pixels and stays with the map', () => {
    const first = fitted(layout, size, 1);
    const point = { x: 400, y: 300 };
    const near = zoomed(first, 4, point, layout, size, 1);
    const [before, after] = [toMap(first, 400, 300), toMap(near, 400, 300)];
    expect(after.x).toBeCloseTo(before.x, 0);
    expect(after.y).toBeCloseTo(before.y, 0);
    const far = panned(near, 12.4, 1e6, layout, size);
    expect(Number.isInteger(far.x) && Number.isInteger(far.y)).toBe(true);
    expect(far.y).toBeLessThan(30);
    expect(held(far, layout, size)).toEqual(far);
  });

  it('comes to what has the focus', () => {
    const near = zoomed(fitted(layout, size, 1), 10, { x: 0, y: 0 }, layout, size, 1);
    const corner = cornerOf(layout, 9_999);
    const there = showing(near, { ...corner, w: 1, h: 1 }, layout, size);
    const x = there.x + corner.x * there.scale;
    expect(x >= 0 && x + there.scale <= size.w).toBe(true);
    expect(showing(there, { ...corner, w: 1, h: 1 }, layout, size)).toEqual(there);
  });
});

describe('colours', () => {
  const glyphs: Glyph[] = ['solid', 'hollow', 'half', 'band', 'pillar', 'dot', 'cross'];

  it('have patterns that differ, at every size', () => {
    for (const size of [6, 8, 12, 40]) {
      const seen = new Set(glyphs.map((glyph) => JSON.stringify(cutsOf(glyph, size))));
      expect(seen.size, `at ${size}`).toBe(glyphs.length);
    }
  });

  it('are kept by who has them, and differ for the first 32', () => {
    expect(new Set(Array.from({ length: 32 }, (_, at) => JSON.stringify(lookOfSlot(at)))).size).toBe(32);
    const colouring = new Colouring();
    const tile = (user: string) => tileOf(node('n', 'A', 'a', held1), { ...job(1), user });
    const first = colouring.lookOf(keyOf('user', tile('kim')));
    colouring.lookOf(keyOf('user', tile('lee')));
    expect(colouring.lookOf(keyOf('user', tile('kim')))).toBe(first);
  });

  it('are counted for the legend; who is out is so in each colouring', () => {
    const rows = rowsOf(
      node('n1', 'A', 'a', held1),
      node('n2', 'A', 'a', held1),
      node('n3', 'A', 'a', { ...held1, state: 'lost' }),
      node('n4'),
    );
    const { tiles } = new ViewMaker().of({ nodes: rows, jobs: jobsOf(job(1)) });
    const entries = new Colouring().entries('job', tiles);
    expect(entries.map(({ key, count }) => [key.kind, key.value, count])).toEqual([
      ['job', '1', 2],
      ['state', 'free', 1],
      ['state', 'lost', 1],
    ]);
  });
});
