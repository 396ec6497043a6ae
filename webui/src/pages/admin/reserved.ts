// Which nodes are reserved now, in words. Asked for beside the stream: a node's row there says it as of the row's last
// change, and a reservation changes no row.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ask } from '../../api/client';
import { queryClient } from '../../api/query';
import { useEvents } from '../../live/hooks';
import { formatMoment } from '../../ui/format';

const PLANNED_EVERY_MS = 60_000; // a share's nodes are chosen before it begins, and no event says so

export function useReservations() {
  return useQuery({
    queryKey: ['reservations'],
    queryFn: () => ask(api.GET('/v1/reservations')),
    refetchInterval: ({ state }) =>
      state.data?.reservations.some((one) => one.state === 'planned') ? PLANNED_EVERY_MS : false,
  });
}

// By name of the node; null: not known yet.
export function useReserved(): ReadonlyMap<string, readonly string[]> | null {
  const { t, i18n } = useTranslation('common');
  const { data } = useReservations();
  const last = useEvents().findLast((event) => event.kind.startsWith('reservation_'))?.seq;
  useEffect(() => {
    if (last !== undefined) void queryClient.invalidateQueries({ queryKey: ['reservations'] });
  }, [last]);
  return useMemo(() => {
    if (!data) return null;
    const all = new Map<string, string[]>();
    for (const row of data.reservations) {
      const words = t(row.team ? 'reservedForTeam' : 'reservedForNobody', {
        name: row.name,
        team: row.team,
        from: formatMoment(row.begins_at_ms, i18n.language),
        until: formatMoment(row.ends_at_ms, i18n.language),
        by: row.made_by,
        reason: row.reason,
      });
      for (const node of row.nodes) all.set(node, [...(all.get(node) ?? []), words]);
    }
    return all;
  }, [data, t, i18n.language]);
}
