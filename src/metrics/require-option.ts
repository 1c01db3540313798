/**
 * Checks one option of a configuration.
 *
 * @param option - The option's name.
 * @param allowed - What it may be, to follow "must be".
 * @param value - What came.
 * @throws TypeError naming all three, where it is not valid.
 */
export function requireOption(option: string, allowed: string, value: unknown, isValid: boolean): void {
  if (!isValid) throw new TypeError(`${option} must be ${allowed}; got ${display(value)}`);
}

/** Some values can't be made a string: one without a prototype, one whose `toString` throws. */
function display(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}
