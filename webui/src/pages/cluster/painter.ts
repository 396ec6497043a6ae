// Paints the map: what is another one, or what comes into sight, once a frame. A pan pushes the pixels along and paints
// the strips that come in; a change paints its tiles; only another scale, size or colouring paints everything. What is
// lit under the pointer is on a canvas of its own.
import type { Camera, Size } from './camera';
import { cornerOf, type Box } from './layout';
import type { Tile } from './model';
import { paintPart, type Scene } from './paint';

export class Painter {
  private scene: Scene | null = null;
  private camera: Camera = { scale: 1, x: 0, y: 0 };
  private painted: { scene: Scene; camera: Camera } | null = null;
  private lit: readonly Box[] = [];
  private marked: Box | null = null;
  private isLitPainted = true;
  private frame = 0;
  private readonly base: CanvasRenderingContext2D;
  private readonly top: CanvasRenderingContext2D;
  size: Size = { w: 0, h: 0 };
  ratio = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
  ) {
    this.base = canvas.getContext('2d', { alpha: false })!;
    this.top = overlay.getContext('2d')!;
  }

  resize(size: Size, ratio: number): void {
    if (size.w === this.size.w && size.h === this.size.h && ratio === this.ratio) return;
    this.size = size;
    this.ratio = ratio;
    for (const one of [this.canvas, this.overlay]) {
      one.width = size.w;
      one.height = size.h;
    }
    this.painted = null;
    this.isLitPainted = false;
    this.request();
  }

  show(scene: Scene): void {
    this.scene = scene;
    this.request();
  }

  look(camera: Camera): void {
    this.camera = camera;
    this.isLitPainted = false;
    this.request();
  }

  // `boxes` of tiles get an edge, and the marked one a thick one.
  light(boxes: readonly Box[], marked: Box | null): void {
    this.lit = boxes;
    this.marked = marked;
    this.isLitPainted = false;
    this.request();
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.scene = null;
  }

  private request(): void {
    if (this.frame === 0 && this.scene) this.frame = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.frame = 0;
    const { scene, camera, painted } = this;
    if (!scene || this.size.w === 0) return;
    if (!painted || painted.camera.scale !== camera.scale || !isSameScene(painted.scene, scene)) this.paintAll(scene);
    else {
      this.push(scene, painted.camera);
      this.paintChanged(painted.scene.tiles, scene);
    }
    this.painted = { scene, camera };
    if (!this.isLitPainted) this.paintLit();
    const { dataset } = this.canvas;
    if (dataset.tiles !== String(scene.tiles.length)) dataset.tiles = String(scene.tiles.length);
  }

  private paintAll(scene: Scene): void {
    this.paintRect(scene, { x: 0, y: 0, ...this.size });
  }

  private paintRect(scene: Scene, rect: Box): void {
    this.base.save();
    this.base.beginPath();
    this.base.rect(rect.x, rect.y, rect.w, rect.h);
    this.base.clip();
    paintPart(this.base, scene, this.camera, rect, this.ratio);
    this.base.restore();
  }

  // What is painted moves with the map; the strips that come into sight are painted.
  private push(scene: Scene, before: Camera): void {
    const dx = this.camera.x - before.x;
    const dy = this.camera.y - before.y;
    if (dx === 0 && dy === 0) return;
    const { w, h } = this.size;
    if (Math.abs(dx) >= w || Math.abs(dy) >= h) return this.paintAll(scene);
    this.base.drawImage(this.canvas, dx, dy);
    if (dx !== 0) this.paintRect(scene, { x: dx > 0 ? 0 : w + dx, y: 0, w: Math.abs(dx), h });
    if (dy !== 0) this.paintRect(scene, { x: 0, y: dy > 0 ? 0 : h + dy, w, h: Math.abs(dy) });
  }

  private paintChanged(before: readonly Tile[], scene: Scene): void {
    const { tiles, layout } = scene;
    if (before === tiles) return;
    const changed: number[] = [];
    for (let at = 0; at < tiles.length; at++) if (tiles[at] !== before[at]) changed.push(at);
    if (changed.length > tiles.length / 4) return this.paintAll(scene);
    for (const at of changed) {
      const corner = cornerOf(layout, at);
      const { scale, x, y } = this.camera;
      const left = Math.round(x + corner.x * scale);
      const top = Math.round(y + corner.y * scale);
      const rect = { x: left, y: top, w: Math.ceil(scale), h: Math.ceil(scale) };
      if (left < this.size.w && top < this.size.h && left + rect.w > 0 && top + rect.h > 0) this.paintRect(scene, rect);
    }
  }

  private paintLit(): void {
    const { top, camera, size } = this;
    this.isLitPainted = true;
    top.clearRect(0, 0, size.w, size.h);
    if (!this.scene) return;
    top.strokeStyle = this.scene.colours.text;
    const thin = Math.max(1, Math.round(1.5 * this.ratio));
    const edge = (box: Box, line: number) => {
      const x = Math.round(camera.x + box.x * camera.scale) - line / 2;
      const y = Math.round(camera.y + box.y * camera.scale) - line / 2;
      const side = Math.round(box.w * camera.scale * this.scene!.fill) + line;
      if (x > size.w || y > size.h || x + side < 0 || y + side < 0) return;
      top.lineWidth = line;
      top.strokeRect(x, y, side, side);
    };
    for (const box of this.lit) edge(box, thin);
    if (this.marked) {
      top.strokeStyle = this.scene.colours.focus;
      edge(this.marked, 2 * thin);
    }
  }
}

function isSameScene(a: Scene, b: Scene): boolean {
  return (
    a.layout === b.layout &&
    a.by === b.by &&
    a.colours === b.colours &&
    a.matches === b.matches &&
    a.words === b.words &&
    a.links === b.links
  );
}
