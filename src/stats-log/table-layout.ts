/** The columns of a table, as wide as they have to be: `| a   | b |`, with a line of dashes below the titles. */
export class TableLayout {
  /** The line of titles, and the one of dashes. */
  readonly top: string;
  readonly #widths: readonly number[];

  /** @param widths - In characters, none less than that of its title. */
  constructor(titles: readonly string[], widths: readonly number[]) {
    this.#widths = widths;
    const dashes = widths.map((width) => '-'.repeat(width + 2)).join('|');
    this.top = `${this.head(titles.slice(0, -1))}${this.last(titles.at(-1) ?? '')}\n|${dashes}|`;
  }

  hasWidths(widths: readonly number[]): boolean {
    return widths.every((width, column) => width === this.#widths[column]);
  }

  /** A row up to where its last cell begins. */
  head(cells: readonly string[]): string {
    const padded = cells.map((cell, column) => `${cell.padEnd(this.#widths[column] ?? 0)} | `);
    // In one piece: of what `+` chains, every reader has to put it together anew.
    return ['| ', ...padded].join('');
  }

  /** The last cell of a row, and its end. */
  last(cell: string): string {
    const missing = (this.#widths.at(-1) ?? 0) - cell.length;
    return `${cell}${ENDS[missing] ?? end(missing)}`;
  }
}

/** Making these anew took half of a table's time. */
const ENDS: readonly string[] = Array.from({ length: 32 }, (_, missing) => end(missing));

function end(missing: number): string {
  return `${' '.repeat(missing)} |`;
}
