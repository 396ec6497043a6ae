// Paints a part of the map onto a canvas: zones, the link between them, leaves, tiles, and words where there is room.
import type { Camera } from './camera';
import { cutsOf, keyOf, type By, type Colouring, type Look } from './colour';
import { cornerOf, type Box, type Layout, type Leaf } from './layout';
import type { Tile } from './model';

export interface Colours {
  back: string;
  sunken: string;
  line: string;
  text: string;
  weak: string;
  focus: string;
  strong: string;
  of: (token: string) => string;
}
export interface Words {
  zone: (name: string, nodes: number) => string;
  leaf: (name: string, nodes: number) => string;
  tile: (tile: Tile, by: By) => string; // a few letters
}
export interface Scene {
  layout: Layout;
  tiles: readonly Tile[];
  by: By;
  colouring: Colouring;
  colours: Colours;
  matches: ((tile: Tile) => boolean) | null; // what does not is faint
  words: Words;
  links: readonly [from: number, to: number][]; // zones between which somebody crosses
  fill: number; // of a tile's pitch
}

const FAINT = 0.18;
const GPUS_FROM_PX = 26;
const WORDS_FROM_PX = 30;
const MORE_FROM_PX = 62;
const HEAD_FROM_PX = 9;

// The colour is set once for all tiles of a kind: that is what costs.
interface Heap {
  look: Look;
  faint: boolean;
  tiles: number[];
}

export function paintPart(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, part: Box, ratio: number): void {
  const { layout, colours } = scene;
  const left = (part.x - camera.x) / camera.scale;
  const top = (part.y - camera.y) / camera.scale;
  const seen = { x: left, y: top, w: part.w / camera.scale, h: part.h / camera.scale };
  ctx.fillStyle = colours.back;
  ctx.fillRect(part.x, part.y, part.w, part.h);
  for (const zone of layout.zones) if (meets(zone, seen)) paintZone(ctx, scene, camera, zone, ratio);
  paintLinks(ctx, scene, camera, ratio);
  const heaps = new Map<string, Heap>();
  const worded: number[] = [];
  for (const leaf of layout.leaves) {
    if (!meets(leaf, seen)) continue;
    paintHead(ctx, scene, camera, leaf, scene.words.leaf(leaf.name, leaf.to - leaf.from), false, ratio);
    gather(scene, leaf, seen, heaps, worded);
  }
  for (const heap of heaps.values()) paintHeap(ctx, scene, camera, heap, ratio);
  ctx.globalAlpha = 1;
  if (camera.scale * scene.fill >= WORDS_FROM_PX * ratio) paintWords(ctx, scene, camera, worded, ratio);
}

function meets(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function gather(scene: Scene, leaf: Leaf, seen: Box, heaps: Map<string, Heap>, worded: number[]): void {
  const { layout, tiles, by, colouring, matches } = scene;
  const above = leaf.y + layout.head;
  const firstRow = Math.max(0, Math.floor(seen.y - above));
  const endRow = Math.min(Math.ceil((leaf.to - leaf.from) / leaf.columns), Math.ceil(seen.y + seen.h - above));
  const first = Math.max(0, Math.floor(seen.x - leaf.x));
  const end = Math.min(leaf.columns, Math.ceil(seen.x + seen.w - leaf.x));
  for (let row = firstRow; row < endRow; row++) {
    for (let column = first; column < end; column++) {
      const at = leaf.from + row * leaf.columns + column;
      if (at >= leaf.to) break;
      const tile = tiles[at]!;
      const look = colouring.lookOf(keyOf(by, tile));
      const faint = matches !== null && !matches(tile);
      const name = `${look.colour}${look.glyph}${faint}`;
      let heap = heaps.get(name);
      if (!heap) heaps.set(name, (heap = { look, faint, tiles: [] }));
      heap.tiles.push(at);
      if (!faint) worded.push(at);
    }
  }
}

function paintHeap(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, heap: Heap, ratio: number): void {
  const { layout, colours } = scene;
  const side = Math.max(1, Math.round(camera.scale * scene.fill));
  const cuts = cutsOf(heap.look.glyph, side);
  const spots = heap.tiles.map((at) => spotOf(layout, at, camera));
  ctx.globalAlpha = heap.faint ? FAINT : 1;
  ctx.fillStyle = colours.of(heap.look.colour);
  for (const { x, y } of spots) ctx.fillRect(x, y, side, side);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colours.back;
  for (const [cx, cy, w, h] of cuts) for (const { x, y } of spots) ctx.fillRect(x + cx, y + cy, w, h);
  paintReserved(ctx, scene, heap, spots, side);
  if (side >= GPUS_FROM_PX * ratio) paintGpus(ctx, scene, heap, spots, side, ratio);
}

// A corner says that somebody has reserved the node.
function paintReserved(
  ctx: CanvasRenderingContext2D,
  { tiles, colours }: Scene,
  heap: Heap,
  spots: { x: number; y: number }[],
  side: number,
): void {
  const corner = Math.max(2, Math.round(side / 4));
  heap.tiles.forEach((at, index) => {
    if (tiles[at]!.reserved.length === 0) return;
    const { x, y } = spots[index]!;
    ctx.fillStyle = colours.back;
    ctx.fillRect(x + side - corner - 1, y, corner + 1, corner + 1);
    ctx.fillStyle = colours.text;
    ctx.fillRect(x + side - corner, y, corner, corner);
  });
}

function spotOf(layout: Layout, at: number, camera: Camera): { x: number; y: number } {
  const corner = cornerOf(layout, at);
  return { x: Math.round(camera.x + corner.x * camera.scale), y: Math.round(camera.y + corner.y * camera.scale) };
}

// A row of cells at the bottom: GPUs that its job has are full, others are empty.
function paintGpus(
  ctx: CanvasRenderingContext2D,
  { tiles, colours }: Scene,
  heap: Heap,
  spots: { x: number; y: number }[],
  side: number,
  ratio: number,
): void {
  const pad = Math.round(side / 10);
  const high = Math.max(3, Math.round(side / 8));
  ctx.globalAlpha = heap.faint ? FAINT : 1;
  heap.tiles.forEach((at, index) => {
    const { gpus, used } = tiles[at]!;
    const pitch = (side - 2 * pad) / Math.max(1, gpus);
    if (pitch < 2 * ratio) return;
    const { x, y } = spots[index]!;
    const top = y + side - pad - high;
    ctx.fillStyle = colours.back;
    ctx.fillRect(x + pad - 1, top - 1, side - 2 * pad + 1, high + 2);
    for (let gpu = 0; gpu < gpus; gpu++) {
      ctx.fillStyle = gpu < used ? colours.of(heap.look.colour) : colours.line;
      ctx.fillRect(Math.round(x + pad + gpu * pitch), top, Math.max(1, Math.round(pitch) - 1), high);
    }
  });
  ctx.globalAlpha = 1;
}

function paintZone(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  camera: Camera,
  zone: Layout['zones'][number],
  ratio: number,
) {
  const x = Math.round(camera.x + zone.x * camera.scale);
  const y = Math.round(camera.y + zone.y * camera.scale);
  const w = Math.round(zone.w * camera.scale);
  const h = Math.round(zone.h * camera.scale);
  ctx.strokeStyle = scene.colours.line;
  ctx.lineWidth = Math.max(1, Math.round(ratio));
  ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  const { pad } = scene.layout;
  const inside = { ...zone, x: zone.x + pad, w: zone.w - 2 * pad, y: zone.y + pad / 2 };
  paintHead(ctx, scene, camera, inside, scene.words.zone(zone.name, zone.to - zone.from), true, ratio);
}

// A line from the name of one zone to that of the other.
function paintLinks(ctx: CanvasRenderingContext2D, { layout, links, colours }: Scene, camera: Camera, ratio: number) {
  for (const [from, to] of links) {
    const a = layout.zones[from]!;
    const b = layout.zones[to]!;
    const beside = b.x >= a.x + a.w;
    const half = (layout.head + layout.pad) / 2;
    const [x1, y1] = beside ? [a.x + a.w - layout.pad / 2, a.y + half] : [a.x + 0.25, a.y + a.h - layout.pad / 2];
    const [x2, y2] = beside ? [b.x + layout.pad / 2, b.y + half] : [b.x + 0.25, b.y + layout.pad / 2];
    const at = (value: number, offset: number) => Math.round(offset + value * camera.scale);
    ctx.strokeStyle = colours.strong;
    ctx.fillStyle = colours.strong;
    ctx.lineWidth = 3 * ratio;
    ctx.beginPath();
    ctx.moveTo(at(x1, camera.x), at(y1, camera.y));
    ctx.lineTo(at(x2, camera.x), at(y2, camera.y));
    ctx.stroke();
    const knob = 4 * ratio;
    for (const [x, y] of [
      [x1, y1],
      [x2, y2],
    ] as const) {
      ctx.fillRect(at(x, camera.x) - knob, at(y, camera.y) - knob, 2 * knob, 2 * knob);
    }
  }
}

// The name of a zone or a leaf, in the room above its tiles.
function paintHead(
  ctx: CanvasRenderingContext2D,
  { layout, colours }: Scene,
  camera: Camera,
  box: Box,
  text: string,
  strong: boolean,
  ratio: number,
): void {
  const high = layout.head * camera.scale;
  const wide = box.w * camera.scale;
  if (high < HEAD_FROM_PX * ratio || wide < 14 * ratio) return;
  const px = Math.round(Math.min((strong ? 13 : 11) * ratio, high * 0.85));
  ctx.font = `${strong ? '600 ' : ''}${px}px system-ui, sans-serif`;
  ctx.fillStyle = strong ? colours.text : colours.weak;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  const shown = shortened(ctx, text, wide);
  if (shown)
    ctx.fillText(shown, Math.round(camera.x + box.x * camera.scale), camera.y + box.y * camera.scale + high / 2);
}

const widths = new Map<string, string>();

// What of the text fits; measured once for each font and width.
function shortened(ctx: CanvasRenderingContext2D, text: string, wide: number): string {
  const key = `${ctx.font}|${Math.floor(wide)}|${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let shown = text;
  while (shown && ctx.measureText(shown).width > wide) shown = shown.includes(' ') ? shown.replace(/ \S*$/, '') : '';
  if (widths.size > 5_000) widths.clear();
  widths.set(key, shown);
  return shown;
}

function paintWords(ctx: CanvasRenderingContext2D, scene: Scene, camera: Camera, worded: number[], ratio: number) {
  const { layout, tiles, by, colours, words, colouring } = scene;
  const side = Math.round(camera.scale * scene.fill);
  const more = side >= MORE_FROM_PX * ratio;
  const px = Math.round(Math.min(12 * ratio, side / 3));
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.font = `${px}px system-ui, sans-serif`;
  for (const at of worded) {
    const tile = tiles[at]!;
    const { x, y } = spotOf(layout, at, camera);
    const glyph = colouring.lookOf(keyOf(by, tile)).glyph;
    const lines = more ? [tile.name, words.tile(tile, by)] : [words.tile(tile, by)];
    lines.forEach((line, index) => {
      if (!line) return;
      const shown = line.length > 12 ? `${line.slice(0, 11)}…` : line;
      const middle = y + Math.round(side * (more ? 0.24 + 0.3 * index : 0.4));
      if (glyph !== 'solid') {
        const wide = Math.min(side - 2, ctx.measureText(shown).width + 4);
        ctx.fillStyle = colours.back;
        ctx.fillRect(Math.round(x + (side - wide) / 2), Math.round(middle - px * 0.65), Math.round(wide), px * 1.3);
      }
      ctx.fillStyle = glyph === 'solid' ? colours.back : colours.text;
      ctx.fillText(shown, x + side / 2, middle, side - 2);
    });
  }
}
