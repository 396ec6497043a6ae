// The map: two canvases that the engine paints, and the buttons that move it.
import { useCallback, useEffect, useMemo, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { nodePath } from '../../shell/links';
import { colourOf, useIsDark } from '../../theme/theme';
import { Button } from '../../ui/Button';
import { formatNumber } from '../../ui/format';
import type { By, Colouring } from './colour';
import { Engine } from './engine';
import { layoutOf, type Layout } from './layout';
import styles from './ClusterMap.module.css';
import type { Crossing, Tile, View } from './model';
import type { Colours, Words } from './paint';
import { usePointed, type Pointing } from './pointing';

interface Props {
  view: View;
  by: By;
  colouring: Colouring;
  matches: ((tile: Tile) => boolean) | null;
  crossings: Crossing[];
  pointing: Pointing;
}

const FILL = 0.86; // of a tile's pitch: the rest is the gap

function useColours(): Colours {
  const isDark = useIsDark();
  return useMemo(() => {
    void isDark; // the tokens' values follow it
    const known = new Map<string, string>();
    const of = (token: string) => {
      let colour = known.get(token);
      if (!colour) known.set(token, (colour = colourOf(token)));
      return colour;
    };
    return {
      back: of('--bg'),
      sunken: of('--bg-sunken'),
      line: of('--line'),
      strong: of('--line-strong'),
      text: of('--text'),
      weak: of('--text-weak'),
      focus: of('--focus'),
      of,
    };
  }, [isDark]);
}

function useWords(): Words {
  const { t, i18n } = useTranslation('cluster');
  return useMemo(() => {
    const count = (nodes: number) => formatNumber(nodes, i18n.language);
    const letters: Record<By, (tile: Tile) => string> = {
      state: (tile) => {
        if (tile.job !== null) return String(tile.job);
        return tile.state === 'free' ? '' : t(`letters.${tile.state}`);
      },
      job: (tile) => (tile.job === null ? '' : String(tile.job)),
      user: (tile) => tile.user,
      class: (tile) => (tile.priority ? t(`common:classes.${tile.priority}`) : ''),
    };
    return {
      zone: (name, nodes) => t('zoneHead', { name: name || t('unknownZone'), nodes: count(nodes) }),
      leaf: (name, nodes) => `${name || '–'} · ${count(nodes)}`,
      tile: (tile, by) => letters[by](tile),
    };
  }, [t, i18n.language]);
}

function linksOf(layout: Layout, crossings: Crossing[]): [number, number][] {
  const at = new Map(layout.zones.map((zone, index) => [zone.name, index]));
  const links = new Map<string, [number, number]>();
  for (const { zones } of crossings) {
    const indices = zones.map(([name]) => at.get(name)).filter((one) => one !== undefined);
    indices.sort((a, b) => a - b);
    indices.slice(1).forEach((to, before) => links.set(`${indices[before]}-${to}`, [indices[before]!, to]));
  }
  return [...links.values()];
}

export function ClusterMap({ view, by, colouring, matches, crossings, pointing }: Props) {
  const { t } = useTranslation('cluster');
  const [engine, setEngine] = useState<Engine | null>(null);
  const [size, setSize] = useState({ w: 0, h: 0 });
  const [, go] = useLocation();
  const attach = useCallback(
    (box: HTMLDivElement | null) => {
      if (!box) return;
      const made = new Engine(box, pointing, (w, h) => setSize({ w, h }));
      setEngine(made);
      return () => made.stop();
    },
    [pointing],
  );
  const layout = useMemo(
    () => (size.w > 0 ? layoutOf(view.places, size.w, size.h) : null),
    [view.places, size.w, size.h],
  );
  const colours = useColours();
  const words = useWords();
  const linked = crossings.map(({ zones }) => zones.map(([name]) => name).join('\n')).join('\n\n');
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the zones that are linked say it all
  const links = useMemo(() => (layout ? linksOf(layout, crossings) : []), [layout, linked]);
  useEffect(() => engine?.whenOpened((name) => go(nodePath(name))), [engine, go]);
  useEffect(() => {
    if (layout) engine?.show({ layout, tiles: view.tiles, by, colouring, colours, matches, words, links, fill: FILL });
  }, [engine, layout, view.tiles, by, colouring, colours, matches, words, links]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (engine?.key(event.key, event.shiftKey)) event.preventDefault();
  };
  return (
    <div className={styles.frame}>
      <div
        ref={attach}
        className={styles.map}
        role="application"
        aria-label={t('mapLabel')}
        aria-describedby="map-keys"
        tabIndex={0}
        onKeyDown={onKeyDown}
        data-part="map"
      >
        <canvas className={styles.layer} />
        <canvas className={styles.layer} />
      </div>
      <p id="map-keys" className="hidden">
        {t('mapKeys')}
      </p>
      <Told view={view} pointing={pointing} />
      <div className={styles.buttons}>
        <Button aria-label={t('zoomIn')} title={t('zoomIn')} onClick={() => engine?.zoom(1)}>
          +
        </Button>
        <Button aria-label={t('zoomOut')} title={t('zoomOut')} onClick={() => engine?.zoom(-1)}>
          −
        </Button>
        <Button aria-label={t('fit')} title={t('fit')} onClick={() => engine?.fit()}>
          ⤢
        </Button>
      </div>
    </div>
  );
}

// What keys have come to, for screen readers.
function Told({ view, pointing }: { view: View; pointing: Pointing }) {
  const { t } = useTranslation('cluster');
  const { focused } = usePointed(pointing);
  const tile = focused ? view.tiles.find((one) => one.name === focused) : undefined;
  return (
    <div role="status" className="hidden">
      {tile &&
        t(tile.job === null ? 'told' : 'toldJob', {
          name: tile.name,
          zone: tile.zone,
          leaf: tile.leaf,
          state: t(`states.${tile.state}`),
          job: String(tile.job),
          jobName: tile.jobName,
        })}
    </div>
  );
}
