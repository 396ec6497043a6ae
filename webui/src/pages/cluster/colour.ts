// What colour and pattern a tile has. States have those of `ui/states.ts`' palette; jobs, users and classes get one of
// eight colours times four patterns, and keep it while the page is open. Pure.
import { isOut, TILE_STATES, type Tile, type TileState } from './model';

export const BYS = ['state', 'job', 'user', 'class'] as const;
export type By = (typeof BYS)[number];

export type Glyph = 'solid' | 'hollow' | 'half' | 'band' | 'pillar' | 'dot' | 'cross';
export interface Look {
  colour: string; // a token
  glyph: Glyph;
}
export type Rect = [x: number, y: number, w: number, h: number];

const STATE_LOOKS: Record<TileState, Look> = {
  running: { colour: '--state-run', glyph: 'solid' },
  starting: { colour: '--state-start', glyph: 'half' },
  stopping: { colour: '--state-warn', glyph: 'band' },
  claimed: { colour: '--state-wait', glyph: 'dot' },
  free: { colour: '--state-none', glyph: 'hollow' },
  cordoned: { colour: '--state-held', glyph: 'pillar' },
  draining: { colour: '--state-held', glyph: 'half' },
  drained: { colour: '--state-held', glyph: 'hollow' },
  faulty: { colour: '--state-bad', glyph: 'dot' },
  silent: { colour: '--state-warn', glyph: 'hollow' },
  quarantined: { colour: '--state-bad', glyph: 'band' },
  refused: { colour: '--state-warn', glyph: 'pillar' },
  lost: { colour: '--state-bad', glyph: 'cross' },
};
export const CLASSES = [
  'low',
  'below_normal',
  'under_normal',
  'normal',
  'above_normal',
  'high',
  'very_high',
  'extreme_high',
  'auto',
];
const COLOURS = 8;
const GLYPHS: Glyph[] = ['solid', 'dot', 'band', 'pillar'];

// What is cut out of a tile of this size, so that its pattern shows.
export function cutsOf(glyph: Glyph, size: number): Rect[] {
  const edge = Math.max(1, Math.round(size / 8));
  const inner = size - 2 * edge;
  const third = Math.max(1, Math.round(size / 3));
  const mid = Math.round((size - third) / 2);
  if (inner < 1) return [];
  switch (glyph) {
    case 'solid':
      return [];
    case 'hollow':
      return [[edge, edge, inner, inner]];
    case 'half':
      return [[edge, edge, inner, Math.max(1, Math.round(size / 2) - edge)]];
    case 'band':
      return [[0, mid, size, third]];
    case 'pillar':
      return [[mid, 0, third, size]];
    case 'dot':
      return [[mid, mid, third, third]];
    case 'cross':
      return [
        [0, 0, mid, mid],
        [size - mid, 0, mid, mid],
        [0, size - mid, mid, mid],
        [size - mid, size - mid, mid, mid],
      ];
  }
}

// Numbers by which jobs and users have their colours: who comes first has the first one.
export class Slots {
  private readonly given = new Map<string, number>();
  of(key: string): number {
    let slot = this.given.get(key);
    if (slot === undefined) this.given.set(key, (slot = this.given.size));
    return slot;
  }
}

export function lookOfSlot(slot: number): Look {
  return {
    colour: `--series-${(slot % COLOURS) + 1}`,
    glyph: GLYPHS[Math.floor(slot / COLOURS) % GLYPHS.length] ?? 'solid',
  };
}

// By what a tile is coloured: a state where it is that that counts, else the job, user or class.
export interface Key {
  kind: By;
  value: string;
}

function valueOf(by: By, tile: Tile): string {
  if (by === 'job') return String(tile.job);
  return by === 'user' ? tile.user : tile.priority;
}

const keys = new Map<string, Key>();

function keyed(kind: By, value: string): Key {
  const name = `${kind}:${value}`;
  let key = keys.get(name);
  if (!key) keys.set(name, (key = { kind, value }));
  return key;
}

// The same object for the same words.
export function keyOf(by: By, tile: Tile): Key {
  if (by === 'state' || tile.job === null || isOut(tile.state)) return keyed('state', tile.state);
  return keyed(by, valueOf(by, tile));
}

export interface Entry {
  key: Key;
  look: Look;
  count: number; // nodes
}

export class Colouring {
  private readonly slots: Record<By, Slots> = {
    state: new Slots(),
    job: new Slots(),
    user: new Slots(),
    class: new Slots(),
  };
  private readonly looks = new Map<Key, Look>();

  lookOf(key: Key): Look {
    let look = this.looks.get(key);
    if (!look) this.looks.set(key, (look = this.made(key)));
    return look;
  }

  private made({ kind, value }: Key): Look {
    if (kind === 'state') return STATE_LOOKS[value as TileState];
    if (kind === 'class' && CLASSES.includes(value)) return lookOfSlot(CLASSES.indexOf(value));
    return lookOfSlot(this.slots[kind].of(value));
  }

  // What there is, for the legend: the most first, states in their own order at the end.
  entries(by: By, tiles: readonly Tile[]): Entry[] {
    const counts = new Map<Key, number>();
    for (const tile of tiles) {
      const key = keyOf(by, tile);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const sorted = [...counts].sort(([a, m], [b, n]) => orderOf(a) - orderOf(b) || n - m);
    return sorted.map(([key, count]) => ({ key, count, look: this.lookOf(key) }));
  }
}

function orderOf({ kind, value }: Key): number {
  if (kind === 'state') return 100 + TILE_STATES.indexOf(value as TileState);
  return kind === 'class' ? CLASSES.indexOf(value) : 0;
}
