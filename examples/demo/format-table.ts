/**
 * Columns side by side, the first flush left and the others flush right, under the first row's titles.
 *
 * @param rows Rows of equally many cells.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  const lines = rows.map((row) =>
    row.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))),
  );
  return lines.map((cells) => `   ${cells.join('   ')}`).join('\n');
}
