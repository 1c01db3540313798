import type { Attributes, Context, Histogram } from '@opentelemetry/api';
import type { Drops } from './drops.ts';
import type { SeriesAttributes } from './series-attributes.ts';

/** What a bound histogram offers: OpenTelemetry's recording method without the attributes. */
export interface BoundHistogram {
  record(value: number, context?: Context): void;
  /** Drops the series, where the provider can. */
  unbind?(): void;
}

/** A histogram of a provider that implements the specification's Bind. */
interface BindableHistogram {
  bind(attributes: Attributes): BoundHistogram;
}

/**
 * A histogram with fixed attributes. The handle is resolved once and stays; what it records into changes when a
 * provider arrives or leaves.
 */
export class HistogramSeries {
  readonly attributes: SeriesAttributes;
  #target: BoundHistogram = UNCONNECTED;
  readonly #drops: Drops;

  constructor(attributes: SeriesAttributes, drops: Drops) {
    this.attributes = attributes;
    this.#drops = drops;
  }

  /** Records one value. Never throws: an instrument that does is counted. */
  record(value: number, context: Context): void {
    try {
      this.#target.record(value, context);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  /**
   * Records into `instrument` from now on, bound where it can be, and makes the series exist at zero. What it recorded
   * into before keeps what it has.
   *
   * @param instrument - Undefined to record nowhere.
   */
  connect(instrument: Histogram | undefined): void {
    this.#target = UNCONNECTED;
    if (instrument === undefined) return;
    try {
      if (isBindable(instrument)) {
        this.#target = instrument.bind(this.attributes);
        return;
      }
      this.#target = new AttributedHistogram(instrument, this.attributes);
      // Binding makes a series exist at zero. Without Bind, NaN does: the specification asks an SDK to handle it
      // ("Numerical limits handling"), and OpenTelemetry's creates the series and leaves the value out.
      instrument.record(Number.NaN, this.attributes);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  /** Records nowhere from now on, and drops what was recorded where the provider can. */
  close(): void {
    const target = this.#target;
    this.#target = UNCONNECTED;
    try {
      target.unbind?.();
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }
}

/** Stands in for Bind where the instrument has none: the same call with the attributes carried along. */
class AttributedHistogram implements BoundHistogram {
  readonly #instrument: Histogram;
  readonly #attributes: SeriesAttributes;

  constructor(instrument: Histogram, attributes: SeriesAttributes) {
    this.#instrument = instrument;
    this.#attributes = attributes;
  }

  record(value: number, context: Context): void {
    this.#instrument.record(value, this.#attributes, context);
  }
}

const UNCONNECTED: BoundHistogram = { record: () => {} };

function isBindable(instrument: unknown): instrument is BindableHistogram {
  return typeof (instrument as Partial<BindableHistogram>).bind === 'function';
}
