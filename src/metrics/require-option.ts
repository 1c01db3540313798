import { messageOf } from './message-of.ts';

/**
 * Checks one option of a configuration.
 *
 * @param option - The option's name.
 * @param allowed - What it may be, to follow "must be".
 * @param value - What came.
 * @throws TypeError naming all three, where it is not valid.
 */
export function requireOption(option: string, allowed: string, value: unknown, isValid: boolean): void {
  if (!isValid)
    throw new TypeError(
      `${option} must be ${allowed}; got ${typeof value === 'string' ? JSON.stringify(value) : messageOf(value)}`,
    );
}
