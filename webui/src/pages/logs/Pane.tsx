// A rank's log: the rows that are seen, and what the pane can do. It stays where it is read, and at the end it follows.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { classes } from '../../ui/classes';
import { ErrorNote } from '../../ui/ErrorNote';
import { Loading } from '../../ui/states-of-pages';
import { logAttemptsOf, type Target } from './attempts';
import type { LogPane } from './logPane';
import { PaneHead } from './PaneHead';
import styles from './Pane.module.css';
import { LineRow, MarkRow } from './Rows';
import { usePane } from './usePane';

export const ROW_PX = 18;
const NEAR_PX = 600; // so near to an edge more is read
const AT_END_PX = 4;

interface Props {
  job: JobDetail;
  rank: number;
  follows: boolean;
  target: Target | null;
  word: string;
  ignoreCase: boolean;
  onClose?: () => void;
}

export function Pane(props: Props) {
  const { job, rank, follows, target } = props;
  const { t } = useTranslation('logs');
  const pane = usePane(job.id, rank, logAttemptsOf(job), follows);
  const [last, setLast] = useState(0); // the item at the bottom of what is seen
  const { attempt = 0, offset = 0 } = target ?? {};
  useEffect(() => {
    void (attempt ? pane.openAt({ attempt, offset }) : pane.openEnd());
    return () => pane.close();
  }, [pane, attempt, offset]);
  const item = pane.items[last] ?? pane.items.at(-1);
  return (
    <section className={styles.pane} aria-label={t('rank', { rank })}>
      <PaneHead pane={pane} job={job} rank={rank} item={item} onClose={props.onClose} />
      {pane.error && !pane.error.isUnreachable && <ErrorNote error={pane.error} />}
      {pane.items.length === 0 && pane.busy ? <Loading /> : <Rows {...props} pane={pane} setLast={setLast} />}
    </section>
  );
}

function Rows({ pane, job, rank, target, word, ignoreCase, setLast }: Props & RowsMore) {
  const { t } = useTranslation('logs');
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: pane.items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 24,
    initialRect: { width: 800, height: 600 },
  });
  const onScroll = useSteadyPlace(pane, scroller); // behind the virtualizer, which scrolls to the top at first
  const onKeyDown = (event: KeyboardEvent) => {
    const attempt = pane.items.at(-1)?.attempt;
    if (event.target !== scroller.current || attempt === undefined) return;
    if (event.key === 'Home') void pane.openBegin(attempt);
    else if (event.key === 'End') void pane.openEnd();
    else return;
    event.preventDefault();
  };
  const marked = target && target.rank === rank ? pane.indexOf(target) : -1;
  return (
    <div
      ref={scroller}
      className={styles.rows}
      role="region"
      aria-label={t('paneOf', { rank })}
      tabIndex={0}
      onScroll={() => {
        onScroll();
        const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
        setLast(Math.floor((scrollTop + clientHeight) / ROW_PX) - 1);
      }}
      onKeyDown={onKeyDown}
    >
      <div className={styles.all} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const item = pane.items[index];
          return (
            <div
              key={pane.base + index}
              className={classes(styles.row, index === marked && styles.marked, item?.kind === 'mark' && styles.mark)}
              data-offset={item?.kind === 'line' ? item.offset : undefined}
              data-mark={item?.kind === 'mark' ? item.what : undefined}
              style={{ transform: `translateY(${start}px)` }}
            >
              {item?.kind === 'line' && <LineRow line={item} word={word} ignoreCase={ignoreCase} />}
              {item?.kind === 'mark' && (
                <MarkRow mark={item} attempt={job.attempts.find((one) => one.ref?.number === item.attempt)} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface RowsMore {
  pane: LogPane;
  setLast: (index: number) => void;
}

// Keeps what is read where it is while lines come above and below; at the end it stays at the end.
function useSteadyPlace(pane: LogPane, scroller: RefObject<HTMLDivElement | null>) {
  const place = useRef({ base: 0, opened: 0, atEnd: true });
  const look = () => {
    const box = scroller.current;
    if (!box || pane.error) return;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    place.current.atEnd = below < AT_END_PX;
    if (box.scrollTop < NEAR_PX) void pane.more('up');
    if (below < NEAR_PX) void pane.more('down');
  };
  useLayoutEffect(() => {
    const box = scroller.current;
    const now = place.current;
    if (!box || pane.items.length === 0) return;
    if (pane.opened !== now.opened) {
      if (pane.goal) box.scrollTo(0, pane.indexOf(pane.goal) * ROW_PX - box.clientHeight / 3);
      else box.scrollTo(0, box.scrollHeight);
      now.opened = pane.opened;
    } else if (now.atEnd) {
      box.scrollTo(0, box.scrollHeight);
    } else if (pane.base !== now.base) {
      box.scrollBy(0, (now.base - pane.base) * ROW_PX);
    }
    now.base = pane.base;
    look();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `look` reads what the others say
  }, [pane, pane.version, scroller]);
  return look;
}
