import { formatTable } from '../../examples/demo/format-table.ts';

/** A column of numbers. */
interface Column {
  /** What it holds, with the unit. */
  readonly name: string;
  /** Digits behind the point, in text. */
  readonly digits: number;
  readonly suffix?: string;
}

/** One part of the benchmark's report. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly {
    readonly name: string;
    /** One per column; NaN where there is none. */
    readonly values: readonly number[];
  }[];
}

/** How often `reference` a value is. */
export function relativeTo(reference: number | undefined): (value: number) => number {
  return (value) => value / (reference ?? Number.NaN);
}

/** The table for people. */
export function toText({ title, columns, rows }: Table): string {
  const cells = rows.map(({ name, values }) => [
    name,
    ...columns.map(({ digits, suffix = '' }, position) => {
      const value = values[position] ?? Number.NaN;
      return Number.isNaN(value) ? '' : `${value.toFixed(digits)}${suffix}`;
    }),
  ]);
  return `${title}\n${formatTable([['', ...columns.map(({ name }) => name)], ...cells])}\n`;
}

/** The table for programs: an object per row, a number or null per column. */
export function toJson({ title, columns, rows }: Table): object {
  return {
    title,
    rows: rows.map(({ name, values }) => ({
      name,
      ...Object.fromEntries(columns.map((column, position) => [column.name, values[position] ?? null])),
    })),
  };
}
