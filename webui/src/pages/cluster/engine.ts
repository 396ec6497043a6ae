// The map as the reader moves it: by mouse, wheel, fingers and keys. Tells the painter; React is told of sizes alone.
import type { Int } from '../../api/int';
import { fitted, held, panned, showing, toMap, zoomed, type Camera } from './camera';
import { cornerOf, neighbourOf, tileAt, type Box, type Direction, type Layout } from './layout';
import type { Tile } from './model';
import type { Scene } from './paint';
import { Painter } from './painter';
import type { Pointing } from './pointing';

const CLICK_PX = 4; // a press that moves less is a click
const WHEEL = 0.0015;
const STEP = 1.4;
const PAN_PX = 80;
const ARROWS: Record<string, Direction> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};
const PANS: Record<Direction, [number, number]> = {
  left: [PAN_PX, 0],
  right: [-PAN_PX, 0],
  up: [0, PAN_PX],
  down: [0, -PAN_PX],
};

interface Spot {
  x: number;
  y: number;
}

export class Engine {
  private readonly painter: Painter;
  private camera: Camera = { scale: 1, x: 0, y: 0 };
  private isFitted = true;
  private scene: Scene | null = null;
  private places = new Map<string, number>();
  private placesOf: Layout | null = null;
  private jobs: { of: readonly Tile[]; nodes: Map<string, number[]> } = { of: [], nodes: new Map() };
  private readonly fingers = new Map<number, Spot>();
  private moved = 0;
  private last: PointerEvent | null = null; // that is not looked at yet
  private readonly over = new AbortController();
  private readonly watch: ResizeObserver;
  private open: (name: string) => void = () => {};

  constructor(
    private readonly box: HTMLElement,
    private readonly pointing: Pointing,
    onSize: (w: number, h: number) => void,
  ) {
    const [base, top] = box.querySelectorAll('canvas');
    this.painter = new Painter(base!, top!);
    this.watch = new ResizeObserver(() => {
      const { clientWidth: w, clientHeight: h } = box;
      const ratio = Math.min(3, window.devicePixelRatio || 1);
      this.painter.resize({ w: Math.round(w * ratio), h: Math.round(h * ratio) }, ratio);
      onSize(w, h);
    });
    this.watch.observe(box);
    this.listen();
    const stop = pointing.subscribe(() => this.light());
    this.over.signal.addEventListener('abort', stop);
  }

  stop(): void {
    this.over.abort();
    this.watch.disconnect();
    this.painter.stop();
  }

  whenOpened(call: (name: string) => void): void {
    this.open = call;
  }

  // Another layout: who has moved the map stays where they are, as far as that is.
  show(scene: Scene): void {
    const isOther = this.scene?.layout !== scene.layout;
    this.scene = scene;
    this.painter.show(scene);
    if (isOther) {
      this.isFitted ||= this.camera.scale < scene.layout.scale * this.painter.ratio;
      if (this.isFitted) this.fit();
      else this.look(held(this.camera, scene.layout, this.painter.size));
    }
    this.light();
  }

  zoom(direction: 1 | -1): void {
    const { w, h } = this.painter.size;
    this.zoomAt(direction > 0 ? STEP : 1 / STEP, { x: w / 2, y: h / 2 });
  }

  fit(): void {
    this.isFitted = true;
    if (this.scene) this.look(fitted(this.scene.layout, this.painter.size, this.painter.ratio));
  }

  // Whether the key meant something.
  key(key: string, shift: boolean): boolean {
    const direction = ARROWS[key];
    if (direction && shift) this.pan(...PANS[direction]);
    else if (direction) this.step(direction);
    else if (key === 'Home') this.focus(0);
    else if (key === 'End') this.focus((this.scene?.tiles.length ?? 0) - 1);
    else if (key === '+' || key === '=') this.zoom(1);
    else if (key === '-') this.zoom(-1);
    else if (key === '0') this.fit();
    else if (key === 'Enter') this.openFocused();
    else if (key === 'Escape' && this.pointing.read().focused) this.pointing.set({ focused: '', hovered: '' });
    else return false;
    return true;
  }

  private openFocused(): void {
    const { focused } = this.pointing.read();
    if (focused) this.open(focused);
  }

  private step(direction: Direction): void {
    const { scene } = this;
    if (!scene) return;
    const at = this.indexOf(this.pointing.read().focused);
    this.focus(at < 0 ? 0 : neighbourOf(scene.layout, at, direction));
  }

  private focus(at: number): void {
    const tile = this.scene?.tiles[at];
    if (!tile || !this.scene) return;
    this.pointing.set({ focused: tile.name, hovered: '' });
    this.look(showing(this.camera, { ...cornerOf(this.scene.layout, at), w: 1, h: 1 }, this.scene.layout, this.size()));
  }

  private size() {
    return this.painter.size;
  }

  private look(camera: Camera): void {
    this.camera = camera;
    this.painter.look(camera);
  }

  private indexOf(name: string): number {
    if (!this.scene || !name) return -1;
    if (this.placesOf !== this.scene.layout) {
      this.places = new Map(this.scene.tiles.map((tile, at) => [tile.name, at]));
      this.placesOf = this.scene.layout;
    }
    return this.places.get(name) ?? -1;
  }

  // Made when it is first wanted after a change: a moving mouse asks for it all the time.
  private nodesOfJobs(): Map<string, number[]> {
    const tiles = this.scene?.tiles ?? [];
    if (this.jobs.of === tiles) return this.jobs.nodes;
    const nodes = new Map<Int, number[]>();
    tiles.forEach(({ job }, at) => {
      if (job === null) return;
      const list = nodes.get(job);
      if (list) list.push(at);
      else nodes.set(job, [at]);
    });
    this.jobs = { of: tiles, nodes: new Map([...nodes].map(([job, list]) => [String(job), list])) };
    return this.jobs.nodes;
  }

  // The nodes of the job that is pointed at.
  private light(): void {
    const { scene } = this;
    if (!scene) return;
    const { hovered, focused, job } = this.pointing.read();
    const at = this.indexOf(hovered || focused);
    const tile: Tile | undefined = scene.tiles[at];
    const key = job || (tile?.job != null ? String(tile.job) : '');
    const boxOf = (index: number): Box => ({ ...cornerOf(scene.layout, index), w: 1, h: 1 });
    const boxes = key ? (this.nodesOfJobs().get(key) ?? []).map(boxOf) : [];
    this.painter.light(boxes, at < 0 ? null : boxOf(at));
  }

  private at(clientX: number, clientY: number): Spot {
    const box = this.box.getBoundingClientRect();
    const { ratio } = this.painter;
    return { x: (clientX - box.left) * ratio, y: (clientY - box.top) * ratio };
  }

  private nameAt(event: MouseEvent): string {
    if (!this.scene) return '';
    const { x, y } = this.at(event.clientX, event.clientY);
    const on = toMap(this.camera, x, y);
    return this.scene.tiles[tileAt(this.scene.layout, on.x, on.y)]?.name ?? '';
  }

  // Whether that changed anything.
  private zoomAt(factor: number, at: Spot): boolean {
    if (!this.scene) return false;
    const { size, ratio } = this.painter;
    const next = zoomed(this.camera, factor, at, this.scene.layout, size, ratio);
    if (next.scale === this.camera.scale) return false;
    this.isFitted = next.scale <= this.scene.layout.scale * ratio;
    this.look(next);
    return true;
  }

  private pan(dx: number, dy: number): void {
    if (!this.scene) return;
    const { size, ratio } = this.painter;
    this.look(panned(this.camera, dx * ratio, dy * ratio, this.scene.layout, size));
  }

  // Once a frame, however often the mouse is heard of.
  private hover(event: PointerEvent): void {
    if (!this.last) {
      requestAnimationFrame(() => {
        if (this.last) this.pointing.set({ hovered: this.nameAt(this.last) });
        this.last = null;
      });
    }
    this.last = event;
  }

  private leave(): void {
    this.last = null;
    if (this.fingers.size === 0) this.pointing.set({ hovered: '' });
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.box.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.fingers.size === 1) this.moved = 0;
  }

  private move(event: PointerEvent): void {
    const before = this.fingers.get(event.pointerId);
    if (!before) return this.hover(event);
    const now = { x: event.clientX, y: event.clientY };
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (this.moved < CLICK_PX) return;
    this.fingers.set(event.pointerId, now);
    if (other) {
      const apart = (one: Spot) => Math.hypot(one.x - other.x, one.y - other.y) || 1;
      this.zoomAt(apart(now) / apart(before), this.at((now.x + other.x) / 2, (now.y + other.y) / 2));
    }
    const share = other ? 0.5 : 1;
    this.pan((now.x - before.x) * share, (now.y - before.y) * share);
  }

  private up(event: PointerEvent): void {
    const isClick = this.fingers.delete(event.pointerId) && this.fingers.size === 0 && this.moved < CLICK_PX;
    if (isClick && event.type === 'pointerup') this.pointing.set({ focused: this.nameAt(event) });
  }

  private wheel(event: WheelEvent): void {
    const factor = Math.exp(-event.deltaY * (event.deltaMode === 1 ? 30 : 1) * WHEEL);
    // At its smallest the map lets the page be scrolled.
    if (this.zoomAt(factor, this.at(event.clientX, event.clientY))) event.preventDefault();
  }

  private listen(): void {
    const { box } = this;
    const options = { signal: this.over.signal };
    box.addEventListener('pointerdown', (event) => this.down(event), options);
    box.addEventListener('pointermove', (event) => this.move(event), options);
    box.addEventListener('pointerup', (event) => this.up(event), options);
    box.addEventListener('pointercancel', (event) => this.up(event), options);
    box.addEventListener('pointerleave', () => this.leave(), options);
    box.addEventListener('dblclick', () => this.openFocused(), options);
    box.addEventListener('wheel', (event) => this.wheel(event), { ...options, passive: false });
  }
}
