// Which nodes the filters leave. Pure.
import type { Tile } from './model';

export const FILTERS = ['state', 'user', 'class', 'pool', 'zone', 'job', 'name'] as const;
export type MapFilters = Record<(typeof FILTERS)[number], string>;

export function matcherOf(filters: MapFilters): ((tile: Tile) => boolean) | null {
  if (FILTERS.every((name) => filters[name] === '')) return null;
  const name = filters.name.trim().toLowerCase();
  return (tile) =>
    (filters.state === '' || tile.state === filters.state) &&
    (filters.user === '' || tile.user === filters.user) &&
    (filters.class === '' || tile.priority === filters.class) &&
    (filters.pool === '' || tile.pool === filters.pool) &&
    (filters.zone === '' || tile.zone === filters.zone) &&
    (filters.job === '' || String(tile.job) === filters.job) &&
    (name === '' || tile.name.toLowerCase().includes(name));
}

export function filtered(tiles: readonly Tile[], filters: MapFilters): Tile[] {
  const matches = matcherOf(filters);
  return matches ? tiles.filter(matches) : [...tiles];
}

// The words that a filter can have: those that there are, and the one that is chosen.
export function valuesOf(tiles: readonly Tile[], chosen: string, of: (tile: Tile) => string): string[] {
  const all = new Set<string>();
  for (const tile of tiles) all.add(of(tile));
  if (chosen) all.add(chosen);
  all.delete('');
  return [...all].sort();
}
