import type { SeriesAttributes } from './series-attributes.ts';

/** Whole numbers up to twice this are exact in a double, so one more of this size still is. */
const PAGE = 2 ** 52;

/**
 * A counter with fixed attributes: a plain number that is read at collection.
 *
 * Whole amounts add up without loss at any size: the sum is kept in two doubles, whole pages of 2^52 and the rest below
 * one. What is read is rounded once, to the double nearest to the exact sum, which is all an exporter can carry.
 */
export class CounterSeries {
  readonly attributes: SeriesAttributes;
  #pages = 0;
  #rest = 0;

  constructor(attributes: SeriesAttributes) {
    this.attributes = attributes;
  }

  /** The sum so far. It only grows. */
  get value(): number {
    return this.#pages * PAGE + this.#rest;
  }

  /**
   * Adds to the sum; no look-up, no allocation for a number.
   *
   * @param amount - The caller has checked that it is finite and not negative.
   */
  add(amount: number | bigint): void {
    if (typeof amount === 'bigint') {
      this.#pages += Number(amount >> 52n);
      this.#rest += Number(amount & 0xf_ffff_ffff_ffffn);
    } else if (amount < PAGE) this.#rest += amount;
    else {
      this.#pages += Math.floor(amount / PAGE);
      this.#rest += amount % PAGE;
    }
    if (this.#rest >= PAGE) {
      this.#pages += 1;
      this.#rest -= PAGE;
    }
  }
}
