/** The text of anything that can be thrown or come from outside: an error's message. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    // One without a prototype, one whose toString throws.
    return typeof thrown;
  }
}
