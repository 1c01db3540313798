import type { BucketExemplars, Exemplar } from '../metrics/bucket-exemplars.ts';

/**
 * Goes through the exemplars of a series as its buckets are written, by value: those who kept them may have told buckets
 * apart by other boundaries, where a View changed the provider's.
 */
export class ExemplarCursor {
  readonly #kept: readonly (Exemplar | undefined)[];
  #next = 0;

  constructor({ byBucket }: BucketExemplars) {
    this.#kept = byBucket;
  }

  /** The last one, in the order of the values, up to a boundary that is not below the one before. */
  upTo(boundary: number): Exemplar | undefined {
    let last: Exemplar | undefined;
    for (; this.#next < this.#kept.length; this.#next += 1) {
      const exemplar = this.#kept[this.#next];
      if (exemplar === undefined) continue;
      if (exemplar.value > boundary) break;
      last = exemplar;
    }
    return last;
  }
}
