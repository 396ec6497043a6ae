import { useEffect } from 'react';
import { checkSession } from '../api/session';
import { liveClient } from '../live/client';
import { useStreamStatus } from '../live/hooks';

// Whoever signs out sees nothing more of what was known. A stream that was refused says by the session why.
export function useLive(signedIn: boolean): void {
  const { phase } = useStreamStatus();
  useEffect(() => {
    if (!signedIn) return;
    return () => liveClient.over();
  }, [signedIn]);
  useEffect(() => {
    if (signedIn && (phase === 'lost' || phase === 'bye')) void checkSession();
  }, [signedIn, phase]);
}
