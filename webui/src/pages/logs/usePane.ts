// A pane for a rank, as long as it is shown: it begins at the target's line, or at the end.
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Int } from '../../api/int';
import { browserSurroundings } from '../../live/surroundings';
import { LogPane } from './logPane';
import type { LogAttempt } from './types';
import { follow, reader } from './source';

export function usePane(job: Int, rank: number, attempts: LogAttempt[], wantsFollow: boolean): LogPane {
  const [pane] = useState(
    () =>
      new LogPane(attempts, {
        reader: (attempt) => reader(job, attempt, rank),
        follow: (attempt, offset, signal, to) => void follow(job, attempt, rank, offset, signal, to),
        later: browserSurroundings.later,
      }),
  );
  const seen = useSeen();
  // What nobody looks at takes none of the browser's six connections.
  useEffect(() => pane.setFollow(wantsFollow && seen), [pane, wantsFollow, seen]);
  const told = JSON.stringify(attempts);
  useEffect(() => {
    pane.setAttempts(attempts);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `told` is what they say
  }, [pane, told]);
  useSyncExternalStore(pane.subscribe, pane.read);
  return pane;
}

const subscribeSeen = (call: () => void) => {
  document.addEventListener('visibilitychange', call);
  return () => document.removeEventListener('visibilitychange', call);
};

function useSeen(): boolean {
  return useSyncExternalStore(subscribeSeen, () => document.visibilityState !== 'hidden');
}
