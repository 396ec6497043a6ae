// Where everything is: zones hold leaves, leaves hold nodes in rows. Units are tiles' pitches; what a unit is in pixels
// is the scale. Pure.
import type { Place } from './model';

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface Leaf extends Box {
  name: string;
  zone: string;
  columns: number;
  from: number; // its tiles: [from, to)
  to: number;
}
export interface Zone extends Box {
  name: string;
  from: number;
  to: number;
}
export interface Layout extends Box {
  scale: number; // pixels a unit at which everything is seen
  head: number; // units that a name takes
  pad: number; // units inside a zone's edge
  zones: Zone[];
  leaves: Leaf[];
  leafOf: Int32Array; // of each tile
}

const SCALES = [96, 80, 68, 58, 50, 43, 37, 32, 28, 24.5, 21.5, 19, 17, 15, 13.5, 12, 11, 10, 9.2, 8.5, 7.8, 7.2];
const SMALLEST = 2.5;
// Between things: in pixels where tiles are large, in tiles where they are small.
const ROOM_PX = { head: 18, gap: 12, pad: 8, zoneGap: 26 };
const ROOM_MAX = { head: 2.2, gap: 0.7, pad: 0.6, zoneGap: 1.8 };
type Room = typeof ROOM_PX & { wide: number }; // in units
const WIDES = [2, 1, 4]; // how much wider than high a leaf may be: the first that gives the largest tiles

function roomAt(scale: number, wide: number): Room {
  const all = { ...ROOM_MAX, wide };
  for (const name of Object.keys(ROOM_MAX) as (keyof typeof ROOM_MAX)[])
    all[name] = Math.min(ROOM_MAX[name], ROOM_PX[name] / scale);
  return all;
}

interface Group {
  name: string;
  zone: string;
  from: number;
  to: number;
}

function groupsOf(
  places: readonly Place[],
  sameGroup: (a: Place, b: Place) => boolean,
  nameOf: (one: Place) => string,
) {
  const groups: Group[] = [];
  places.forEach((place, at) => {
    const before = places[at - 1];
    if (before && sameGroup(before, place)) groups.at(-1)!.to = at + 1;
    else groups.push({ name: nameOf(place), zone: place.zone, from: at, to: at + 1 });
  });
  return groups;
}

function columnsOf(count: number, widest: number, wide: number): number {
  return Math.max(1, Math.min(count, widest, Math.ceil(Math.sqrt(count * wide))));
}

// Leaves of a zone, from left to right in rows of the zone's width.
function shelves(leaves: Group[], width: number, { head, gap, wide }: Room): { boxes: Leaf[]; h: number; w: number } {
  const boxes: Leaf[] = [];
  let [x, y, high, w] = [0, 0, 0, 0];
  for (const leaf of leaves) {
    const count = leaf.to - leaf.from;
    const columns = columnsOf(count, Math.max(1, Math.floor(width)), wide);
    const h = head + Math.ceil(count / columns);
    if (x > 0 && x + columns > width) [x, y, high] = [0, y + high + gap, 0];
    boxes.push({ ...leaf, columns, x, y, w: columns, h });
    x += columns + gap;
    w = Math.max(w, x - gap);
    high = Math.max(high, h);
  }
  return { boxes, h: y + high, w };
}

function zoneBoxes(zones: Group[], leaves: Group[], widths: number[], room: Room) {
  const { head, pad } = room;
  return zones.map((zone, at) => {
    const own = leaves.filter((leaf) => leaf.from >= zone.from && leaf.to <= zone.to);
    const inside = shelves(own, (widths[at] ?? 1) - 2 * pad, room);
    return { zone, inside, w: inside.w + 2 * pad, h: inside.h + head + 2 * pad };
  });
}
type Boxes = ReturnType<typeof zoneBoxes>;

function sized(boxes: Boxes, beside: boolean, zoneGap: number): { w: number; h: number } {
  const [along, across] = beside ? (['w', 'h'] as const) : (['h', 'w'] as const);
  const length = boxes.reduce((sum, one) => sum + one[along], 0) + zoneGap * Math.max(0, boxes.length - 1);
  const most = Math.max(0, ...boxes.map((one) => one[across]));
  return beside ? { w: length, h: most } : { w: most, h: length };
}

// Zones beside each other, as wide as they have nodes; or below each other: what is less high.
function arranged(zones: Group[], leaves: Group[], width: number, room: Room) {
  const all = zones.at(-1)?.to ?? 1;
  const free = width - room.zoneGap * (zones.length - 1);
  const shares = zones.map(({ from, to }) => Math.max(1, (free * (to - from)) / all));
  const beside = zoneBoxes(zones, leaves, shares, room);
  const below = zoneBoxes(
    zones,
    leaves,
    zones.map(() => width),
    room,
  );
  const [one, other] = [sized(beside, true, room.zoneGap), sized(below, false, room.zoneGap)];
  const isBeside = one.w <= width + 0.01 && one.h <= other.h;
  return isBeside ? { boxes: beside, beside: true, ...one } : { boxes: below, beside: false, ...other };
}

// The largest tiles with which everything fits into a window of this size.
export function layoutOf(places: readonly Place[], width: number, height: number): Layout {
  const zones = groupsOf(
    places,
    (a, b) => a.zone === b.zone,
    ({ zone }) => zone,
  );
  const leaves = groupsOf(
    places,
    (a, b) => a.zone === b.zone && a.leaf === b.leaf,
    ({ leaf }) => leaf,
  );
  const scales = [...SCALES];
  for (let scale = SCALES.at(-1)! * 0.96; scale > SMALLEST; scale *= 0.96) scales.push(scale);
  const tryOne = (scale: number, wide: number) => {
    const room = roomAt(scale, wide);
    const tried = arranged(zones, leaves, width / scale, room);
    return { tried, scale, room, fits: tried.h * scale <= height && tried.w * scale <= width + 1 };
  };
  // Smaller tiles fit where larger ones do.
  const largest = (wide: number) => {
    let [first, last] = [0, scales.length - 1];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (tryOne(scales[middle]!, wide).fits) last = middle;
      else first = middle + 1;
    }
    return tryOne(scales[first]!, wide);
  };
  const best = WIDES.map(largest).reduce((a, b) => (b.scale > a.scale ? b : a));
  return placed(best.tried, best.scale, best.room, places.length);
}

function placed(tried: ReturnType<typeof arranged>, scale: number, room: Room, count: number): Layout {
  const { head, pad, zoneGap } = room;
  const zones: Zone[] = [];
  const leaves: Leaf[] = [];
  const leafOf = new Int32Array(count);
  let [x, y] = [0, 0];
  for (const { zone, inside, w, h } of tried.boxes) {
    zones.push({ ...zone, x, y, w, h });
    for (const leaf of inside.boxes) {
      leafOf.fill(leaves.length, leaf.from, leaf.to);
      leaves.push({ ...leaf, x: leaf.x + x + pad, y: leaf.y + y + pad + head });
    }
    if (tried.beside) x += w + zoneGap;
    else y += h + zoneGap;
  }
  return { x: 0, y: 0, w: tried.w, h: tried.h, scale, head, pad, zones, leaves, leafOf };
}

// The corner of a tile.
export function cornerOf(layout: Layout, at: number): { x: number; y: number } {
  const leaf = layout.leaves[layout.leafOf[at]!]!;
  const inside = at - leaf.from;
  return { x: leaf.x + (inside % leaf.columns), y: leaf.y + layout.head + Math.floor(inside / leaf.columns) };
}

// The tile at a point, or -1.
export function tileAt(layout: Layout, x: number, y: number): number {
  for (const leaf of layout.leaves) {
    if (x < leaf.x || y < leaf.y + layout.head || x >= leaf.x + leaf.w || y >= leaf.y + leaf.h) continue;
    const at = leaf.from + Math.floor(y - leaf.y - layout.head) * leaf.columns + Math.floor(x - leaf.x);
    return at < leaf.to ? at : -1;
  }
  return -1;
}

export type Direction = 'left' | 'right' | 'up' | 'down';
const STEPS: Record<Direction, [dx: number, dy: number]> = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };
const ASIDE = 3; // a step aside costs as much as so many ahead

// The tile that is next in this direction; the same one if there is none.
export function neighbourOf(layout: Layout, at: number, direction: Direction): number {
  const [dx, dy] = STEPS[direction];
  const from = cornerOf(layout, at);
  let [best, least] = [at, Infinity];
  for (let other = 0; other < layout.leafOf.length; other++) {
    const to = cornerOf(layout, other);
    const ahead = dx * (to.x - from.x) + dy * (to.y - from.y);
    if (ahead < 0.5) continue;
    const aside = Math.abs(dx ? to.y - from.y : to.x - from.x);
    if (ahead + ASIDE * aside < least) [best, least] = [other, ahead + ASIDE * aside];
  }
  return best;
}
