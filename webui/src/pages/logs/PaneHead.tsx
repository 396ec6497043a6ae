// Above a rank's log: where its first row stands, a slider over the attempt's whole log, places to go to, the file.
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { pathWith } from '../../api/raw';
import { Bytes } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { formatPercent } from '../../ui/format';
import { Menu, type MenuItem } from '../../ui/Menu';
import { logAttemptsOf } from './attempts';
import type { LogPane } from './logPane';
import type { Item } from './types';
import styles from './Pane.module.css';

const SETTLE_MS = 150; // a slider that is dragged asks where it stops
const STEPS = 1_000;

interface Props {
  pane: LogPane;
  job: JobDetail;
  rank: number;
  item: Item | undefined;
  onClose?: () => void;
}

export function PaneHead({ pane, job, rank, item, onClose }: Props) {
  const { t, i18n } = useTranslation('logs');
  const attempt = item?.attempt ?? 0;
  const { begin, end } = pane.extentOf(attempt);
  const offset = item?.kind === 'line' ? item.offset : item?.what === 'ended' ? end : begin;
  const share = end > begin ? Math.min(1, Math.max(0, (offset - begin) / (end - begin))) : 0;
  return (
    <div className={styles.head}>
      <strong>{t('rank', { rank })}</strong>
      {attempt > 0 && (
        <span className="weak">
          #{attempt} · {formatPercent(share, i18n.language)} · <Bytes value={end - begin} />
        </span>
      )}
      {pane.follows && <span className={styles.live}>{t('following')}</span>}
      <span className={styles.space} />
      <Slider
        label={t('position', { rank })}
        share={share}
        go={(to) => void pane.openAt({ attempt, offset: Math.floor(begin + to * (end - begin)) })}
        disabled={end <= begin}
      />
      <Jump pane={pane} job={job} rank={rank} />
      {attempt > 0 && (
        <a
          href={pathWith(`/v1/jobs/${job.id}/log`, { rank, attempt })}
          download={`job-${job.id}-attempt-${attempt}-rank-${rank}.log`}
          aria-label={t('downloadOf', { rank, attempt })}
        >
          {t('download')}
        </a>
      )}
      {onClose && (
        <Button kind="quiet" onClick={onClose} aria-label={t('removeRank', { rank })}>
          ✕
        </Button>
      )}
    </div>
  );
}

function Slider({
  label,
  share,
  go,
  disabled,
}: {
  label: string;
  share: number;
  go: (to: number) => void;
  disabled: boolean;
}) {
  const [held, setHeld] = useState<number | null>(null);
  useEffect(() => {
    if (held === null) return;
    const timer = setTimeout(() => {
      go(held / STEPS);
      setHeld(null);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [held, go]);
  return (
    <input
      type="range"
      className={styles.slider}
      aria-label={label}
      min={0}
      max={STEPS}
      value={held ?? Math.round(share * STEPS)}
      disabled={disabled}
      onChange={(event) => setHeld(Number(event.target.value))}
    />
  );
}

function Jump({ pane, job, rank }: { pane: LogPane; job: JobDetail; rank: number }) {
  const { t } = useTranslation('logs');
  const attempts = logAttemptsOf(job).toReversed();
  const items: MenuItem[] = [
    { key: 'newest', title: t('toNewest'), act: () => void pane.openEnd() },
    ...attempts.flatMap(({ number }) => [
      { key: `e${number}`, title: t('toEnd', { attempt: number }), act: () => void pane.openEnd(number) },
      { key: `b${number}`, title: t('toBegin', { attempt: number }), act: () => void pane.openBegin(number) },
    ]),
  ];
  return <Menu label={t('jumpOf', { rank })} title={<>{t('jump')} ▾</>} items={items} />;
}
