// A table of any length: TanStack Table sorts, TanStack Virtual shows what is seen. One tab stop, then arrow keys.
import { flexRender, getCoreRowModel, getSortedRowModel, useReactTable } from '@tanstack/react-table';
import type { ColumnDef, Header, Row, RowData, SortingState, Updater } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { classes } from './classes';
import styles from './DataTable.module.css';
import { Explained } from './Explained';

declare module '@tanstack/react-table' {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData extends RowData, TValue> {
    width?: string; // a track of CSS grid: '80px', 'minmax(120px, 2fr)' (the default is minmax(80px, 1fr))
    number?: boolean; // aligned to the right
    wide?: boolean; // left out on phones
    words?: string; // what the column means, on hover of its sign
    command?: string; // that shows the same
  }
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- columns of one table have values of many types
export type Columns<T> = ColumnDef<T, any>[];

interface Props<T> {
  label: string;
  rows: T[];
  columns: Columns<T>;
  keyOf: (row: T) => string;
  // Where Enter and a click on a row lead to.
  linkOf?: (row: T) => string;
  empty?: ReactNode;
  // Most rows that are shown at a time; more are scrolled. 0: as many as fit into the window.
  rowsMax?: number;
  sortName?: string; // of the address' word for the order
  chosen?: string; // the key of a row that is marked
  onChoose?: (row: T) => void; // instead of linkOf
}

const ROW_PX = 30;
const PAGE_ROWS = 15;

// "-nodes" in the address is the column `nodes`, the largest first.
function useSortInAddress(name: string) {
  const [search, setSearch] = useSearchParams();
  const word = search.get(name) ?? '';
  const sorting = useMemo<SortingState>(
    () => (word ? [{ id: word.replace(/^-/, ''), desc: word.startsWith('-') }] : []),
    [word],
  );
  const set = (updater: Updater<SortingState>) => {
    const [first] = typeof updater === 'function' ? updater(sorting) : updater;
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (first) after.set(name, (first.desc ? '-' : '') + first.id);
        else after.delete(name);
        return after;
      },
      { replace: true },
    );
  };
  return [sorting, set] as const;
}

export function DataTable<T>(props: Props<T>) {
  const { label, rows, columns, keyOf, empty, rowsMax = 0, sortName = 'sort' } = props;
  const [sorting, setSorting] = useSortInAddress(sortName);
  const table = useReactTable({
    data: rows,
    columns,
    state: { sorting },
    onSortingChange: setSorting,
    autoResetAll: false, // there are no pages to go back from
    getRowId: keyOf,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const shown = table.getRowModel().rows;
  const tracks = (wide: boolean) =>
    columns
      .filter((column) => wide || !column.meta?.wide)
      .map((column) => column.meta?.width ?? 'minmax(80px, 1fr)')
      .join(' ');
  const lines = { '--tracks': tracks(true), '--tracks-phone': tracks(false) } as React.CSSProperties;
  const high = rowsMax > 0 ? { maxHeight: `${(rowsMax + 1) * ROW_PX + 2}px` } : {};
  const scroller = useRef<HTMLDivElement>(null);
  return (
    <div
      className={classes(styles.scroller, rowsMax === 0 && styles.fill)}
      ref={scroller}
      style={{ ...lines, ...high }}
    >
      <div role="grid" aria-label={label} aria-rowcount={shown.length + 1} className={styles.grid}>
        <div role="rowgroup" className={styles.head}>
          {table.getHeaderGroups().map((group) => (
            <div role="row" aria-rowindex={1} className={styles.row} key={group.id}>
              {group.headers.map((header) => (
                <HeadCell key={header.id} header={header} />
              ))}
            </div>
          ))}
        </div>
        <Body {...props} shown={shown} scroller={scroller} />
      </div>
      {shown.length === 0 && empty}
    </div>
  );
}

const SORTED = { asc: 'ascending', desc: 'descending' } as const;

function HeadCell<T>({ header }: { header: Header<T, unknown> }) {
  const { column } = header;
  const { number, wide, words, command } = column.columnDef.meta ?? {};
  const title = flexRender(column.columnDef.header, header.getContext());
  const sorted = column.getIsSorted();
  return (
    <div
      role="columnheader"
      aria-sort={sorted ? SORTED[sorted] : undefined}
      className={classes(styles.cell, number && styles.number, wide && styles.wide)}
    >
      {column.getCanSort() ? (
        <button type="button" className={styles.sort} onClick={column.getToggleSortingHandler()}>
          {title}
          <span aria-hidden="true">{sorted === 'asc' ? ' ▲' : sorted === 'desc' ? ' ▼' : ''}</span>
        </button>
      ) : (
        <span>{title}</span>
      )}
      {words && <Explained mark words={words} command={command} />}
    </div>
  );
}

interface BodyProps<T> extends Props<T> {
  shown: Row<T>[];
  scroller: React.RefObject<HTMLDivElement | null>;
}

const STEPS: Record<string, (at: number, last: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + PAGE_ROWS,
  PageUp: (at) => at - PAGE_ROWS,
  Home: () => 0,
  End: (_at, last) => last,
};

function Body<T>({ shown, scroller, linkOf, onChoose, chosen }: BodyProps<T>) {
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    scrollPaddingStart: ROW_PX,
    initialRect: { width: 1000, height: 600 },
  });
  const open = (row: Row<T>) => (onChoose ? onChoose(row.original) : linkOf && go(linkOf(row.original)));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget.ownerDocument.activeElement || !isRow(event.target)) return;
    const row = shown[at];
    if (event.key === 'Enter' && row) return open(row);
    const to = STEPS[event.key]?.(at, shown.length - 1);
    if (to === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(shown.length - 1, to));
    setAt(next);
    rows.scrollToIndex(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus());
  };
  const first = Math.min(at, shown.length - 1);
  const seen = rows.getVirtualItems();
  // The row that has the tab stop may be scrolled away: then the first that is seen has it.
  const stop = seen.some((item) => item.index === first) ? first : seen[0]?.index;
  return (
    <div role="rowgroup" className={styles.body} style={{ height: rows.getTotalSize() }} onKeyDown={onKeyDown}>
      {seen.map((item) => {
        const row = shown[item.index];
        if (!row) return null;
        return (
          <div
            key={row.id}
            role="row"
            aria-rowindex={item.index + 2}
            aria-selected={chosen === undefined ? undefined : chosen === row.id}
            data-at={item.index}
            data-key={row.id}
            tabIndex={item.index === stop ? 0 : -1}
            className={classes(styles.row, (linkOf || onChoose) && styles.link, chosen === row.id && styles.chosen)}
            style={{ transform: `translateY(${item.start}px)` }}
            onFocus={() => setAt(item.index)}
            onClick={(event) => isRow(event.target) && open(row)}
          >
            {row.getVisibleCells().map((cell) => {
              const { number, wide } = cell.column.columnDef.meta ?? {};
              return (
                <div
                  role="gridcell"
                  key={cell.id}
                  className={classes(styles.cell, number && styles.number, wide && styles.wide)}
                >
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </div>
              );
            })}
          </div>
        );
      })}
    </div>
  );
}

// Links and buttons inside a row do what they do by themselves.
function isRow(target: EventTarget): boolean {
  return target instanceof Element && !target.closest('a, button, input, select');
}
