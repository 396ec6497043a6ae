// What a submission would come to, and the submission. Both take the draft as it stands.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, ask, type Schemas } from '../../api/client';
import { busyRetry, useJobChanges } from '../usage/queries';

export type Planned = Schemas['PlannedJob'];

const WAIT_MS = 500;
const asYaml = (text: string) => ({
  body: text as unknown as Schemas['JobFile'],
  bodySerializer: () => text,
  headers: { 'Content-Type': 'application/yaml' },
});

export const planOf = (text: string, signal?: AbortSignal) => ask(api.POST('/v1/plan', { ...asYaml(text), signal }));

export const submit = (text: string, request_id: string) =>
  ask(api.POST('/v1/jobs', { ...asYaml(text), params: { query: { request_id } } }));

// The value when nobody has changed it for a moment.
export function useSettled<T>(value: T): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), WAIT_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export function usePlan(text: string, isWorthIt: boolean) {
  const settled = useSettled(text);
  const changes = useSettled(useJobChanges());
  const isReady = isWorthIt && settled === text;
  const plan = useQuery({
    queryKey: ['plan', settled],
    queryFn: ({ signal }) => planOf(settled, signal),
    enabled: isReady,
    placeholderData: (before) => before,
    gcTime: 0,
    ...busyRetry,
  });
  // Others' jobs come and go: what it would come to now is another thing then.
  const { refetch } = plan;
  useEffect(() => {
    if (isReady && changes) void refetch({ cancelRefetch: false });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what is typed asks by itself
  }, [changes, refetch]);
  return plan;
}

// Names alone: no value of a secret ever comes to a page.
export function useSecretNames() {
  return useQuery({ queryKey: ['secrets'], queryFn: () => ask(api.GET('/v1/secrets')) });
}

// Also where the page has come without TLS, where browsers make no UUIDs.
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
