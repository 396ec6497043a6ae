// The state of the stream: a sign in the header, and a banner while what is shown may be old.
import { useTranslation } from 'react-i18next';
import { liveClient } from '../live/client';
import { useStreamStatus } from '../live/hooks';
import type { StreamStatus } from '../live/types';
import { Said, Time } from '../ui/amounts';
import { StateShape } from '../ui/Badge';
import { Button } from '../ui/Button';
import { Explained } from '../ui/Explained';
import { useNow } from '../ui/useNow';
import type { Look } from '../ui/states';
import styles from './StreamState.module.css';

const LOOKS: Record<string, Look> = {
  live: { colour: '--state-good', shape: 'disc' },
  connecting: { colour: '--state-wait', shape: 'half' },
  stale: { colour: '--state-warn', shape: 'triangle' },
  lost: { colour: '--state-bad', shape: 'cross' },
  bye: { colour: '--state-bad', shape: 'square' },
};
const NOTICED_MS = 1_500; // a connection that comes back sooner is no news

function kindOf(status: StreamStatus): string {
  return status.phase === 'live' && status.staleSinceMs > 0 ? 'stale' : status.phase;
}

export function StreamSign() {
  const { t } = useTranslation('common');
  const status = useStreamStatus();
  const kind = kindOf(status);
  if (kind === 'idle') return <span role="status" data-stream={kind} />;
  return (
    <span role="status" data-stream={kind} className={styles.sign}>
      <Explained words={t(`stream.${kind}Words`, { count: status.tabs })} command="glim events -f">
        <StateShape {...(LOOKS[kind] ?? LOOKS.connecting!)} />
        <span className={styles.word}> {t(`stream.${kind}`)}</span>
      </Explained>
    </span>
  );
}

export function StreamBanner() {
  const { t } = useTranslation('common');
  const status = useStreamStatus();
  const kind = kindOf(status);
  const noticed = useNow((now) => now - status.sinceMs > NOTICED_MS);
  if (kind === 'idle' || kind === 'live' || kind === 'connecting' || (kind === 'lost' && !noticed)) return null;
  return (
    <div role="alert" className={styles.banner} data-banner={kind}>
      <strong>{t(`stream.${kind}`)}</strong> {t(`stream.${kind}Banner`)}{' '}
      <Time atMs={kind === 'stale' ? status.staleSinceMs : status.sinceMs} />
      {kind === 'stale' && status.staleWhy && (
        <div>
          <Said text={status.staleWhy} />
        </div>
      )}
      {status.error && (
        <div>
          <Said text={`${status.error.message} ${status.error.fix}`} />
        </div>
      )}
      {kind !== 'stale' && <Button onClick={() => liveClient.again()}>{t('tryAgain')}</Button>}
    </div>
  );
}
