import type { Attributes } from '@opentelemetry/api';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import type { BucketExemplars } from '../metrics/bucket-exemplars.ts';
import { exemplarsBeside, seriesKey } from '../metrics/shared-exemplars.ts';
import type { ExpositionFormat } from './exposition-format.ts';
import type { ExpositionWriter } from './exposition-writer.ts';
import { ExemplarCursor } from './exemplar-cursor.ts';
import { formatNumber } from './format-number.ts';

/** The constant text of one series, and how its lines are written. Made once, then kept for every later scrape. */
export interface SeriesLines<Value> {
  /** The label text, which is the identity of the series within its family. */
  readonly labels: string;
  /** Writes all sample lines of one point. */
  write(point: DataPoint<Value>, format: ExpositionFormat, writer: ExpositionWriter): void;
}

/** The line of a counter or gauge. */
export class NumberLines implements SeriesLines<number> {
  readonly labels: string;
  readonly #head: Uint8Array;

  constructor(name: string, labels: string) {
    this.labels = labels;
    this.#head = sampleHead(name, labels);
  }

  write({ value }: DataPoint<number>, _format: ExpositionFormat, writer: ExpositionWriter): void {
    writer.sample(this.#head, value);
  }
}

/** What a `BoundMeterProvider` gives; other providers' points have no such property. */
interface HistogramPoint extends DataPoint<Histogram> {
  readonly exemplars?: BucketExemplars | undefined;
}

/**
 * The lines of a histogram with explicit buckets: cumulative `_bucket`, with exemplars where the format has them, then
 * `_sum` and `_count`.
 */
export class HistogramLines implements SeriesLines<Histogram> {
  readonly labels: string;
  readonly #bucketHead: Uint8Array;
  readonly #sumHead: Uint8Array;
  readonly #countHead: Uint8Array;
  readonly #metricName: string;
  #seriesKey: string | undefined;

  /** @param metricName - OpenTelemetry's. */
  constructor(name: string, labels: string, metricName: string) {
    this.labels = labels;
    this.#metricName = metricName;
    this.#bucketHead = Buffer.from(`${name}_bucket{${labels}${labels === '' ? '' : ','}le="`);
    this.#sumHead = sampleHead(`${name}_sum`, labels);
    this.#countHead = sampleHead(`${name}_count`, labels);
  }

  write(point: HistogramPoint, format: ExpositionFormat, writer: ExpositionWriter): void {
    const { buckets, count, sum } = point.value;
    const { counts, boundaries } = buckets;
    const tails = bucketTails(boundaries);
    const kept = format.name === 'openmetrics' ? this.#exemplarsOf(point) : undefined;
    const exemplars = kept === undefined ? undefined : new ExemplarCursor(kept);
    let cumulative = 0;
    // An empty bucket has no exemplar: it was kept after the collection, or of another provider's measurement.
    for (let index = 0; index < tails.length; index += 1) {
      const inBucket = counts[index] ?? 0;
      cumulative += inBucket;
      writer.bucket(this.#bucketHead, tails[index] as Uint8Array, cumulative);
      const exemplar = exemplars?.upTo(boundaries[index] as number);
      if (exemplar !== undefined && inBucket > 0) writer.exemplar(exemplar);
    }
    writer.bucket(this.#bucketHead, INFINITE_TAIL, count);
    const exemplar = exemplars?.upTo(Infinity);
    if (exemplar !== undefined && count > cumulative) writer.exemplar(exemplar);
    // A sum that can fall, as it can where a boundary is negative, is no counter; and OpenMetrics has no count without one.
    const hasSum = sum !== undefined && (boundaries[0] ?? 0) >= 0;
    if (hasSum) writer.sample(this.#sumHead, sum);
    if (hasSum || format.name === 'text') writer.sample(this.#countHead, count);
  }

  #exemplarsOf(point: HistogramPoint): BucketExemplars | undefined {
    if ('exemplars' in point) return point.exemplars;
    return exemplarsBeside((this.#seriesKey ??= seriesKey(this.#metricName, point.attributes)));
  }
}

/** The constant text of every series of a metric, found by the attributes object of its points. */
export class LinesByAttributes<Value> {
  readonly #known = new WeakMap<Attributes, SeriesLines<Value>>();
  readonly #make: (attributes: Attributes) => SeriesLines<Value>;

  /** @param make - Makes what is not known yet. */
  constructor(make: (attributes: Attributes) => SeriesLines<Value>) {
    this.#make = make;
  }

  of(attributes: Attributes): SeriesLines<Value> {
    let lines = this.#known.get(attributes);
    if (lines === undefined) {
      lines = this.#make(attributes);
      this.#known.set(attributes, lines);
    }
    return lines;
  }
}

/** A sample line up to its value. */
function sampleHead(name: string, labels: string): Uint8Array {
  return Buffer.from(labels === '' ? `${name} ` : `${name}{${labels}} `);
}

/** What stands between `le="` and the value. */
function bucketTail(boundary: number): Uint8Array {
  return Buffer.from(`${formatNumber(boundary)}"} `);
}

const INFINITE_TAIL = bucketTail(Infinity);

/** Keyed by the array, of which a histogram has one for all its series and collections. */
const tailsByBoundaries = new WeakMap<readonly number[], readonly Uint8Array[]>();

/** Per boundary. Infinity is left out: `+Inf` is always written. */
function bucketTails(boundaries: readonly number[]): readonly Uint8Array[] {
  let tails = tailsByBoundaries.get(boundaries);
  if (tails === undefined) {
    tails = boundaries.filter((boundary) => boundary < Infinity).map(bucketTail);
    tailsByBoundaries.set(boundaries, tails);
  }
  return tails;
}
