const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * A horizontal bar, exact to an eighth of a character.
 *
 * @param share 0 to 1. A share above 0 always shows.
 * @param width Characters of a full bar.
 */
export function formatBar(share: number, width: number): string {
  const eighths = share > 0 ? Math.max(Math.round(share * width * 8), 1) : 0;
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
