// Filters in the address, so that a view can be sent to somebody: `?state=queued&user=kim`.
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';

export type Filters<Name extends string> = Record<Name, string>; // '': no filter

export function useFilters<Name extends string>(...names: Name[]) {
  const [search, setSearch] = useSearchParams();
  const key = names.join();
  const filters = useMemo(
    () => Object.fromEntries(key.split(',').map((name) => [name, search.get(name) ?? ''])) as Filters<Name>,
    [search, key],
  );
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
