import type { CudagraphRuns } from '../engine/cudagraph-interval.ts';
import { formatCount } from './format-fixed.ts';
import { TableLayout } from './table-layout.ts';

const TITLES = ['Unpadded Tokens', 'Padded Tokens', 'Num Paddings', 'Runtime Mode', 'Count'];
const TITLE_WIDTHS = TITLES.map(({ length }) => length);
const COUNT_COLUMN = TITLES.length - 1;

/**
 * A row of the CUDA-graph table up to its last cell, the count. The rest is the same in the tables of all engines and
 * from interval to interval: it is kept as it was written last.
 */
export class CudagraphRow {
  /** All but the count. */
  readonly cells: readonly string[];
  /** Whether no cell is wider than its title. */
  readonly isNarrow: boolean;
  #layout: TableLayout | undefined;
  #text = '';

  constructor(cells: readonly string[]) {
    this.cells = cells;
    this.isNarrow = cells.every(({ length }, column) => length <= (TITLE_WIDTHS[column] ?? 0));
  }

  text(layout: TableLayout): string {
    if (layout !== this.#layout) {
      this.#text = layout.head(this.cells);
      this.#layout = layout;
    }
    return this.#text;
  }
}

/** How many rows are kept, whatever an engine sends. */
const MAX_KEPT = 4096;

const kept = new Map<string, CudagraphRow>();

/** @param key - Tells these runs from runs of other kinds. */
export function cudagraphRow(key: string, runs: CudagraphRuns): CudagraphRow {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const numbers = [runs.unpaddedTokens, runs.paddedTokens, runs.paddings];
  const row = new CudagraphRow([...numbers.map(formatCount), runs.runtimeMode]);
  if (kept.size === MAX_KEPT) kept.clear();
  kept.set(key, row);
  return row;
}

const NARROW = new TableLayout(TITLES, TITLE_WIDTHS);
/** Of the last table that was wider. Rows are kept as they are written for one layout, so that it has to be the same. */
let wide = NARROW;

/** The layout of a table of these rows with these counts. */
export function cudagraphLayout(rows: readonly CudagraphRow[], counts: readonly string[]): TableLayout {
  const countWidth = TITLE_WIDTHS[COUNT_COLUMN] ?? 0;
  let isNarrow = true;
  for (const row of rows) isNarrow &&= row.isNarrow;
  for (const count of counts) isNarrow &&= count.length <= countWidth;
  if (isNarrow) return NARROW;
  const widths = [...TITLE_WIDTHS];
  const widen = ({ length }: string, column: number): void => {
    if (length > (widths[column] ?? 0)) widths[column] = length;
  };
  for (const { cells } of rows) cells.forEach(widen);
  for (const count of counts) widen(count, COUNT_COLUMN);
  if (!wide.hasWidths(widths)) wide = new TableLayout(TITLES, widths);
  return wide;
}
