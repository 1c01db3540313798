import type { Attributes, Context, Histogram } from '@opentelemetry/api';
import type { Drops } from './drops.ts';
import type { SeriesAttributes } from './series-attributes.ts';
import { SharedExemplars } from './shared-exemplars.ts';

/** What a bound histogram offers: OpenTelemetry's recording method without the attributes. */
export interface BoundHistogram {
  record(value: number, context?: Context): void;
  /** Records `count` measurements of the same value, where the provider can. */
  recordMany?(value: number, count: number, context?: Context): void;
  /** Drops the series, where the provider can. */
  unbind?(): void;
}

/** A histogram of a provider that implements the specification's Bind. */
interface BindableHistogram {
  bind(attributes: Attributes): BoundHistogram;
}

/** What exemplars are kept by where the provider keeps none. */
export interface ExemplarSeries {
  /** Which series of the process this is. */
  readonly key: string;
  readonly boundaries: readonly number[];
}

/**
 * A histogram with fixed attributes. The handle is resolved once and stays; what it records into changes when a
 * provider arrives or leaves.
 */
export class HistogramSeries {
  readonly attributes: SeriesAttributes;
  #target: BoundHistogram = UNCONNECTED;
  readonly #drops: Drops;
  readonly #exemplarSeries: ExemplarSeries | undefined;

  /** @param exemplarSeries - Undefined for no exemplars. */
  constructor(attributes: SeriesAttributes, drops: Drops, exemplarSeries?: ExemplarSeries) {
    this.attributes = attributes;
    this.#drops = drops;
    this.#exemplarSeries = exemplarSeries;
  }

  /** Records one value. Never throws: an instrument that does is counted. */
  record(value: number, context: Context): void {
    try {
      this.#target.record(value, context);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  /** Records `count` measurements of the same value. Never throws: each that the instrument throws for is counted. */
  recordMany(value: number, count: number, context: Context): void {
    const target = this.#target;
    if (target.recordMany === undefined) {
      for (let made = 0; made < count; made += 1) this.record(value, context);
      return;
    }
    try {
      target.recordMany(value, count, context);
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
    const before = this.#target;
    this.#target = UNCONNECTED;
    if (before instanceof AttributedHistogram) before.unbind();
    if (instrument === undefined) return;
    try {
      if (isBindable(instrument)) {
        this.#target = instrument.bind(this.attributes);
        return;
      }
      this.#target = new AttributedHistogram(instrument, this.attributes, this.#exemplarSeries);
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

/**
 * Stands in for Bind where the instrument has none: the same call with the attributes carried along, and exemplars kept
 * beside it.
 */
class AttributedHistogram implements BoundHistogram {
  readonly #instrument: Histogram;
  readonly #attributes: SeriesAttributes;
  readonly #exemplars: SharedExemplars | undefined;

  constructor(instrument: Histogram, attributes: SeriesAttributes, series: ExemplarSeries | undefined) {
    this.#instrument = instrument;
    this.#attributes = attributes;
    this.#exemplars = series === undefined ? undefined : new SharedExemplars(series.key, series.boundaries);
  }

  record(value: number, context: Context): void {
    this.#instrument.record(value, this.#attributes, context);
    this.#exemplars?.offer(value, context);
  }

  /** Drops its exemplars: what the instrument has stays. */
  unbind(): void {
    this.#exemplars?.release();
  }
}

const UNCONNECTED: BoundHistogram = { record: () => {} };

function isBindable(instrument: unknown): instrument is BindableHistogram {
  return typeof (instrument as Partial<BindableHistogram>).bind === 'function';
}
