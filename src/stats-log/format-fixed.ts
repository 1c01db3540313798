/**
 * Writes a number exactly as C's `printf("%.*f")` and Python's `'%.1f'` do: rounded from the double's exact binary
 * value, a tie to the even digit; all digits however large; `nan`, `inf`, `-inf`, and the sign of a negative zero.
 *
 * @param digits - Digits after the point: a whole number from 0 to 99.
 */
export function formatFixed(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  const magnitude = Math.abs(value);
  const text = formatClearCase(magnitude, digits) ?? formatMagnitude(magnitude, digits);
  return value < 0 || Object.is(value, -0) ? `-${text}` : text;
}

/** Writes a count as `%d` does: without what is after the point. */
export function formatCount(value: number): string {
  // JavaScript writes whole numbers of this size in full, and a negative zero as 0.
  if (Number.isSafeInteger(value)) return String(value);
  // Adding 0 turns a negative zero into 0: an integer has none.
  return formatFixed(Math.trunc(value) + 0, 0);
}

/** What can follow the point, by the number of digits: up to the most that {@link formatClearCase} writes. */
const FRACTIONS: readonly (readonly string[])[] = [0, 1, 2, 3].map((digits) =>
  Array.from({ length: 10 ** digits }, (_, fraction) =>
    digits === 0 ? '' : `.${String(fraction).padStart(digits, '0')}`,
  ),
);

/**
 * The common case in a fraction of the time: few digits of a number that is not large and not close to the middle
 * between two decimals. Undefined for any other.
 *
 * Below 2^30 the product is off by at most half a unit in its last place, 2^-24. Where it is further than that from
 * the middle, so is the exact product, on the same side, and both round to the same.
 */
function formatClearCase(value: number, digits: number): string | undefined {
  const fractions = FRACTIONS[digits];
  if (fractions === undefined || !(value < 2 ** 20)) return undefined;
  const power = fractions.length;
  const scaled = value * power;
  const floor = Math.floor(scaled);
  const pastMiddle = scaled - floor - 0.5;
  if (Math.abs(pastMiddle) < 2 ** -20) return undefined;
  const rounded = pastMiddle > 0 ? floor + 1 : floor;
  const whole = Math.floor(rounded / power);
  return `${whole}${fractions[rounded - whole * power]}`;
}

function formatMagnitude(value: number, digits: number): string {
  if (value === Infinity) return 'inf';
  // From here on `toFixed` writes an exponent. All doubles as large are whole.
  if (value >= 1e21) return digits === 0 ? `${BigInt(value)}` : `${BigInt(value)}.${'0'.repeat(digits)}`;
  // `toFixed` rounds the exact value as C does, save that it takes ties up. A double lies halfway between two decimals
  // of so many digits exactly if it is an odd multiple of 2 ** -(digits + 1); one more digit then writes it in full.
  if ((value * 2 ** (digits + 1)) % 2 !== 1) return value.toFixed(digits);
  const full = value.toFixed(digits + 1);
  const down = full.slice(0, digits === 0 ? -2 : -1);
  return Number(down.at(-1)) % 2 === 0 ? down : value.toFixed(digits);
}
