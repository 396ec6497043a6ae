// What the page's main thread did in each frame, from the browser's own trace.
import type { Browser, Page } from '@playwright/test';

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string };
}

export interface Frames {
  busyMs: number[]; // of the main thread, by the clock
  cpuMs: number[]; // likewise, without what others took of the processor
  intervalMs: number[];
}

const CATEGORIES = ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'];

export async function framesOf(browser: Browser, page: Page, act: () => Promise<void>): Promise<Frames> {
  // A frame is asked for all the time, so that each is seen.
  await page.evaluate(() => {
    const loop = () => {
      (window as { glimLoop?: number }).glimLoop = requestAnimationFrame(loop);
    };
    loop();
  });
  await browser.startTracing(page, { categories: CATEGORIES });
  await act();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  await page.evaluate(() => cancelAnimationFrame((window as { glimLoop?: number }).glimLoop ?? 0));
  return frames(trace.traceEvents);
}

function frames(events: TraceEvent[]): Frames {
  const fires = events.filter((event) => event.name === 'FireAnimationFrame' && event.ph !== 'E');
  const threads = new Map<string, number>();
  for (const { pid, tid } of fires) threads.set(`${pid}:${tid}`, (threads.get(`${pid}:${tid}`) ?? 0) + 1);
  const [main] = [...threads].sort((a, b) => b[1] - a[1])[0] ?? [''];
  const isMain = ({ pid, tid }: TraceEvent) => `${pid}:${tid}` === main;
  // Several callbacks of one frame follow each other at once.
  const starts: number[] = [];
  for (const { ts } of fires.filter(isMain).sort((a, b) => a.ts - b.ts)) {
    if (starts.length === 0 || ts - starts.at(-1)! > 3_000) starts.push(ts);
  }
  const tasks = events
    .filter((event) => isMain(event) && /RunTask$/.test(event.name) && event.ph === 'X' && event.dur !== undefined)
    .sort((a, b) => a.ts - b.ts);
  return summed(starts, outermost(tasks));
}

function outermost(tasks: TraceEvent[]): TraceEvent[] {
  let end = 0;
  return tasks.filter((task) => {
    if (task.ts < end) return false;
    end = task.ts + (task.dur ?? 0);
    return true;
  });
}

// A task belongs to the frame in which it ends.
function summed(starts: number[], tasks: TraceEvent[]): Frames {
  const all: Frames = { busyMs: [], cpuMs: [], intervalMs: [] };
  let at = 0;
  for (let frame = 0; frame + 1 < starts.length; frame++) {
    let [busy, cpu] = [0, 0];
    while (at < tasks.length && tasks[at]!.ts < starts[frame + 1]!) {
      const task = tasks[at++]!;
      if (task.ts < starts[frame]! && frame === 0) continue;
      busy += task.dur ?? 0;
      cpu += task.tdur ?? 0;
    }
    all.busyMs.push(busy / 1_000);
    all.cpuMs.push(cpu / 1_000);
    all.intervalMs.push((starts[frame + 1]! - starts[frame]!) / 1_000);
  }
  return all;
}
