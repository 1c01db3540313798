import { formatNumber } from './format-number.ts';

/** No number is spelled with more characters. */
export const MAX_NUMBER_LENGTH = 32;

const DOT = 0x2e;
const ZERO = 0x30;
const PLUS = 0x2b;
const LOWER_E = 0x65;

/** Splits a whole number that a double holds exactly into two of at most this many digits, which 32 bits hold. */
const HALF_DIGITS = 8;
const HALF = 10 ** HALF_DIGITS;

/**
 * Writes a number as {@link formatNumber} spells it, without a string where it is a count: whole and not negative.
 *
 * @param bytes - Has {@link MAX_NUMBER_LENGTH} bytes left at `offset`.
 * @returns The offset after it.
 */
export function writeNumber(bytes: Buffer, offset: number, value: number): number {
  if (value > 0 && Number.isSafeInteger(value)) {
    return value < 1e6 ? writeBelowMillion(bytes, offset, value) : writeFromMillion(bytes, offset, value);
  }
  if (Object.is(value, 0)) return writeBelowMillion(bytes, offset, 0);
  return offset + bytes.write(formatNumber(value), offset, 'latin1');
}

/** `34.0` */
function writeBelowMillion(bytes: Buffer, offset: number, value: number): number {
  let end = offset + 1;
  if (value < 10) bytes[offset] = ZERO + value;
  else end = writeDigits(bytes, offset, value, countDigits(value));
  bytes[end] = DOT;
  bytes[end + 1] = ZERO;
  return end + 2;
}

/** `1.014573e+06`: all digits but trailing zeros, since no fewer read back as the same whole number. */
function writeFromMillion(bytes: Buffer, offset: number, value: number): number {
  const high = Math.floor(value / HALF);
  const low = value - high * HALF;
  const count = high === 0 ? countDigits(low) : countDigits(high) + HALF_DIGITS;
  // A place further right, so that only the first digit is to be moved for the point.
  if (high === 0) writeDigits(bytes, offset + 1, low, count);
  else writeDigits(bytes, writeDigits(bytes, offset + 1, high, count - HALF_DIGITS), low, HALF_DIGITS);
  bytes[offset] = bytes[offset + 1] as number;
  bytes[offset + 1] = DOT;
  let end = offset + 1 + count;
  while (bytes[end - 1] === ZERO) end -= 1;
  if (bytes[end - 1] === DOT) end -= 1;
  bytes[end] = LOWER_E;
  bytes[end + 1] = PLUS;
  return writeDigits(bytes, end + 2, count - 1, 2);
}

/** Writes so many digits, with leading zeros where there are fewer. */
function writeDigits(bytes: Buffer, offset: number, value: number, count: number): number {
  let rest = value | 0;
  for (let place = offset + count - 1; place >= offset; place -= 1) {
    const tenth = (rest / 10) | 0;
    bytes[place] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return offset + count;
}

/** Of a whole number from 0 to below {@link HALF}. */
function countDigits(value: number): number {
  let count = 1;
  for (let power = 10; value >= power; power *= 10) count += 1;
  return count;
}
