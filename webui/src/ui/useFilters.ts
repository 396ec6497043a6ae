// Filters in the address, so that a view can be sent to somebody: `?state=queued&user=kim`.
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { parseJson } from '../api/parse';

export type Filters<Name extends string> = Record<Name, string>; // '': no filter

export function useFilters<Name extends string>(...names: Name[]) {
  const [search, setSearch] = useSearchParams();
  // The parameters are another object at each render; the filters are not, unless they are others.
  const words = JSON.stringify(names.map((name) => [name, search.get(name) ?? '']));
  const filters = useMemo(() => Object.fromEntries(parseJson<[Name, string][]>(words)) as Filters<Name>, [words]);
  const set = useCallback(
    (change: Partial<Filters<Name>>) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(change) as [string, string][]) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
    [setSearch],
  );
  return [filters, set] as const;
}
