import type { SpanContext } from '@opentelemetry/api';

/** A measurement that was made in a sampled span, and where to find that span. */
export interface Exemplar {
  readonly value: number;
  /** When it was made, in milliseconds since the epoch. */
  readonly timeMillis: number;
  /** As 32 lowercase hexadecimal digits. */
  readonly traceId: string;
  /** As 16 lowercase hexadecimal digits. */
  readonly spanId: string;
}

/**
 * The exemplars of one histogram series: per bucket, the last measurement in a sampled span. That is the specification's
 * AlignedHistogramBucketExemplarReservoir (metrics SDK, "Exemplar reservoirs"), which may keep any of a bucket's
 * measurements.
 *
 * Memory is bounded by the buckets: about 250 bytes for each that a sampled measurement fell in, ids included, none
 * for the others.
 */
export class BucketExemplars {
  // Changed in place: a sampled request offers one measurement per token.
  readonly #byBucket: ({ -readonly [Key in keyof Exemplar]: Exemplar[Key] } | undefined)[] = [];

  /** What is kept, in the order of the buckets and so of the values. Live: copy what is to stay as it is. */
  get byBucket(): readonly (Exemplar | undefined)[] {
    return this.#byBucket;
  }

  /**
   * Keeps a measurement in place of the bucket's last.
   *
   * @param bucket - Index from 0, the last one being that without an upper boundary.
   * @param span - A sampled span with valid ids.
   */
  keep(bucket: number, value: number, { traceId, spanId }: SpanContext): void {
    const last = this.#byBucket[bucket];
    if (last === undefined) {
      while (this.#byBucket.length < bucket) this.#byBucket.push(undefined);
      this.#byBucket[bucket] = { value, timeMillis: Date.now(), traceId, spanId };
      return;
    }
    last.value = value;
    last.timeMillis = Date.now();
    last.traceId = traceId;
    last.spanId = spanId;
  }
}
