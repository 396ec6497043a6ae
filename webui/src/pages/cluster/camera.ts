// Which part of the map is seen: how large a unit is, and where its corner is. Moves by whole pixels, so that what is
// painted can be pushed along. Pure.
import type { Box, Layout } from './layout';

export interface Camera {
  scale: number; // device pixels a unit
  x: number; // device pixels of the map's corner
  y: number;
}
export interface Size {
  w: number; // device pixels
  h: number;
}

const SCALE_MAX = 140;
const MARGIN = 24;

export function fitted(layout: Layout, size: Size, ratio: number): Camera {
  const scale = layout.scale * ratio;
  return held({ scale, x: 0, y: 0 }, layout, size);
}

function heldAlong(offset: number, length: number, room: number): number {
  if (length <= room) return 0;
  return Math.min(MARGIN, Math.max(room - length - MARGIN, offset));
}

// The map does not leave the window; what is smaller than it stays in its corner.
export function held({ scale, x, y }: Camera, layout: Layout, size: Size): Camera {
  return {
    scale,
    x: Math.round(heldAlong(x, layout.w * scale, size.w)),
    y: Math.round(heldAlong(y, layout.h * scale, size.h)),
  };
}

export function panned(camera: Camera, dx: number, dy: number, layout: Layout, size: Size): Camera {
  return held({ scale: camera.scale, x: camera.x + dx, y: camera.y + dy }, layout, size);
}

// By `factor`, with what is at this point staying there. Not smaller than everything.
export function zoomed(
  camera: Camera,
  factor: number,
  at: { x: number; y: number },
  layout: Layout,
  size: Size,
  ratio: number,
): Camera {
  const least = layout.scale * ratio;
  const scale = Math.max(least, Math.min(Math.max(least, SCALE_MAX * ratio), camera.scale * factor));
  const by = scale / camera.scale;
  return held({ scale, x: at.x - (at.x - camera.x) * by, y: at.y - (at.y - camera.y) * by }, layout, size);
}

// Moved as little as needed until the box is seen.
export function showing(camera: Camera, box: Box, layout: Layout, size: Size): Camera {
  const left = camera.x + box.x * camera.scale;
  const top = camera.y + box.y * camera.scale;
  const shift = (from: number, length: number, room: number) =>
    from < MARGIN ? MARGIN - from : from + length > room - MARGIN ? room - MARGIN - from - length : 0;
  const dx = shift(left, box.w * camera.scale, size.w);
  const dy = shift(top, box.h * camera.scale, size.h);
  return dx || dy ? panned(camera, dx, dy, layout, size) : camera;
}

export function toMap(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: (x - camera.x) / camera.scale, y: (y - camera.y) / camera.scale };
}
