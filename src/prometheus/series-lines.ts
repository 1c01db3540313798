import type { Histogram } from '@opentelemetry/sdk-metrics';
import type { ExpositionFormat } from './exposition-format.ts';
import { formatNumber } from './format-number.ts';

/** The constant text of one series, and how its lines are written. Made once, then kept for every later scrape. */
export interface SeriesLines<Value> {
  /** The label text, which is the identity of the series within its family. */
  readonly labels: string;
  /** All sample lines of one point, each with its line feed. */
  write(value: Value, format: ExpositionFormat): string;
}

/** The line of a counter or gauge. */
export class NumberLines implements SeriesLines<number> {
  readonly labels: string;
  readonly #head: string;

  constructor(name: string, labels: string) {
    this.labels = labels;
    this.#head = sampleHead(name, labels);
  }

  write(value: number): string {
    return `${this.#head}${formatNumber(value)}\n`;
  }
}

/** The lines of a histogram with explicit buckets: cumulative `_bucket`, then `_sum` and `_count`. */
export class HistogramLines implements SeriesLines<Histogram> {
  readonly labels: string;
  readonly #bucketHead: string;
  readonly #sumHead: string;
  readonly #countHead: string;

  constructor(name: string, labels: string) {
    this.labels = labels;
    this.#bucketHead = `${name}_bucket{${labels}${labels === '' ? '' : ','}le="`;
    this.#sumHead = sampleHead(`${name}_sum`, labels);
    this.#countHead = sampleHead(`${name}_count`, labels);
  }

  write({ buckets, count, sum }: Histogram, format: ExpositionFormat): string {
    const tails = bucketTails(buckets.boundaries);
    let text = '';
    let cumulative = 0;
    for (let index = 0; index < tails.length; index += 1) {
      cumulative += buckets.counts[index] ?? 0;
      text += `${this.#bucketHead}${tails[index]}${formatNumber(cumulative)}\n`;
    }
    text += `${this.#bucketHead}+Inf"} ${formatNumber(count)}\n`;
    // A sum that can fall, as it can where a boundary is negative, is no counter; and OpenMetrics has no count without one.
    const hasSum = sum !== undefined && (buckets.boundaries[0] ?? 0) >= 0;
    if (hasSum) text += `${this.#sumHead}${formatNumber(sum)}\n`;
    if (hasSum || format.name === 'text') text += `${this.#countHead}${formatNumber(count)}\n`;
    return text;
  }
}

/** A sample line up to its value. */
export function sampleHead(name: string, labels: string): string {
  return labels === '' ? `${name} ` : `${name}{${labels}} `;
}

/** Keyed by the array, of which a histogram has one for all its series and collections. */
const tailsByBoundaries = new WeakMap<readonly number[], readonly string[]>();

/** What stands between `le="` and the value, per boundary. Infinity is left out: `+Inf` is always written. */
function bucketTails(boundaries: readonly number[]): readonly string[] {
  let tails = tailsByBoundaries.get(boundaries);
  if (tails === undefined) {
    tails = boundaries
      .filter((boundary) => boundary < Infinity)
      .map((boundary) => `${formatNumber(boundary)}"} `);
    tailsByBoundaries.set(boundaries, tails);
  }
  return tails;
}
