// Steps a second over the steps, one line an attempt. uPlot draws; the table behind it says the same in words.
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colourOf, useIsDark } from '../../theme/theme';
import { formatNumber } from '../../ui/format';
import type { RatePoint } from './rates';
import styles from './RateChart.module.css';

const HEIGHT = 170;
const COLOURS = ['--state-run', '--state-good', '--state-held', '--state-bad'];
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

interface Drawn {
  attempts: number[];
  data: uPlot.AlignedData;
}

// A step may be of two attempts: each has its own line, and each step its place once.
export function aligned(points: RatePoint[]): Drawn {
  const steps = [...new Set(points.map((one) => one.step))].sort((a, b) => a - b);
  const at = new Map(steps.map((step, i) => [step, i]));
  const attempts = [...new Set(points.map((one) => one.attempt))];
  const lines = attempts.map((attempt) => {
    const line: (number | undefined)[] = new Array(steps.length).fill(undefined);
    for (const one of points) if (one.attempt === attempt) line[at.get(one.step) ?? 0] = one.rate;
    return line;
  });
  return { attempts, data: [steps, ...lines] as uPlot.AlignedData };
}

export default function RateChart({ points, label }: { points: RatePoint[]; label: string }) {
  const { t, i18n } = useTranslation('job');
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = useIsDark();
  const { attempts, data } = aligned(points);
  const names = attempts.map((number) => t('attempt.name', { number })).join('|');
  const latest = useRef(data);
  useEffect(() => {
    latest.current = data;
    plot.current?.setData(data);
  });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(
      optionsOf(element.clientWidth, names.split('|'), t('step'), i18n.language),
      latest.current,
      element,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, isDark, i18n.language, t]);
  return <div ref={box} className={styles.chart} role="img" aria-label={label} />;
}

function optionsOf(width: number, names: string[], step: string, language: string): uPlot.Options {
  const axis = {
    stroke: colourOf('--text-weak'),
    grid: { stroke: colourOf('--line'), width: 1 },
    ticks: { stroke: colourOf('--line'), width: 1 },
    font: '11px system-ui, sans-serif',
    values: (_plot: uPlot, values: number[]) => values.map((value) => formatNumber(value, language, 2)),
  };
  const number = (_plot: uPlot, value: number | null) => (value === null ? '–' : formatNumber(value, language, 2));
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, Math.max(high * 1.15, 0.01)] } },
    cursor: { points: { size: 5 } },
    axes: [axis, { ...axis, size: 46 }],
    series: [
      { label: step, value: number },
      ...names.map((label, at) => ({
        label,
        value: number,
        spanGaps: true,
        width: 2,
        dash: DASHES[at % DASHES.length],
        stroke: colourOf(COLOURS[at % COLOURS.length] ?? '--state-run'),
        points: { size: 4 },
      })),
    ],
    legend: { show: names.length <= 6 },
  };
}
