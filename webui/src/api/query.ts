// TanStack Query for what is asked once or now and then; what is live comes by src/live.
import { QueryClient } from '@tanstack/react-query';
import { asApiError } from './error';

const RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      retry: (failures, thrown) => failures < RETRIES && asApiError(thrown).isUnreachable,
    },
    mutations: { retry: false },
  },
});
