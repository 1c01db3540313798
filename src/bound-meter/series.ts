import type { Attributes, HrTime } from '@opentelemetry/api';
import type { BucketExemplars } from '../metrics/bucket-exemplars.ts';
import type { Accumulator, Aggregation } from './aggregation.ts';
import type { Attributed } from './series-table.ts';
import { wallTime } from './wall-time.ts';

/**
 * One series of a synchronous instrument.
 *
 * A measurement goes into one accumulator, whoever reads: `live`, all that came since the last collection of any
 * producer. A collection adds it to the total and to what each delta producer has not reported yet, and empties it.
 * So the minimum and maximum of an interval are known to several producers, a sum is never the difference of two
 * large ones, and a producer that does not collect holds nothing.
 */
export class Series<Value> implements Attributed {
  readonly attributes: Attributes;
  /** When it was bound or first recorded into. */
  readonly startTime: HrTime = wallTime();
  /** What measurements are recorded into. */
  readonly live: Accumulator;
  /** From the first measurement in a sampled span on. */
  exemplars: BucketExemplars | undefined = undefined;
  /** Whether it has been taken out of its stream. */
  isDropped = false;
  readonly #aggregation: Aggregation<Value>;
  readonly #total: Accumulator;
  /** What a delta producer has not reported yet, by the producer's index, from its first collection on. */
  readonly #unreported: (Accumulator | undefined)[] = [];

  constructor(attributes: Attributes, aggregation: Aggregation<Value>) {
    this.attributes = attributes;
    this.live = aggregation.create();
    this.#aggregation = aggregation;
    this.#total = aggregation.create();
  }

  /** The value since the start. */
  cumulative(): Value {
    this.#settle();
    return this.#aggregation.value(this.#total);
  }

  /**
   * The value since the last collection of this producer, or since the start at its first one; undefined where
   * nothing was recorded since then. The first one is there in any case: it says that the series exists.
   */
  delta(producer: number): Value | undefined {
    this.#settle();
    const unreported = this.#unreported[producer];
    if (unreported === undefined) {
      this.#unreported[producer] = this.#aggregation.create();
      return this.#aggregation.value(this.#total);
    }
    if (this.#aggregation.isEmpty(unreported)) return undefined;
    const value = this.#aggregation.value(unreported);
    this.#aggregation.clear(unreported);
    return value;
  }

  #settle(): void {
    if (this.#aggregation.isEmpty(this.live)) return;
    this.#aggregation.merge(this.#total, this.live);
    for (const unreported of this.#unreported) {
      if (unreported !== undefined) this.#aggregation.merge(unreported, this.live);
    }
    this.#aggregation.clear(this.live);
  }
}
