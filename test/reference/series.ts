import { bucketsOf } from './buckets.ts';

export type Labels = Readonly<Record<string, string>>;

/** Samples of one histogram series; `buckets` are counts of their own, not cumulative, the last for `+Inf`. */
interface Histogram {
  readonly bounds: readonly number[];
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** One series under its exposed name. Whole numbers are bigints, so that they add up exactly. */
interface Series {
  readonly name: string;
  readonly labels: Labels;
  value: number | bigint | Histogram;
}

/** Every series there is, by name and labels. */
export type AllSeries = Map<string, Series>;

/** Name and labels as one text, in the order of the label names. */
export function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.toSorted().join(',')}}`;
}

/** Makes a counter exist. */
export function createCounter(all: AllSeries, name: string, labels: Labels): void {
  const total = `${name}_total`;
  const key = keyOf(total, labels);
  if (!all.has(key)) all.set(key, { name: total, labels, value: 0n });
}

/** Adds to a counter, unless what came is no count: counters never fall. */
export function add(all: AllSeries, name: string, labels: Labels, amount: unknown): void {
  createCounter(all, name, labels);
  if (!isCount(amount)) return;
  const series = all.get(keyOf(`${name}_total`, labels))!;
  const before = series.value as number | bigint;
  series.value =
    isWhole(before) && isWhole(amount) ? BigInt(before) + BigInt(amount) : Number(before) + Number(amount);
}

/** Sets a gauge. */
export function set(all: AllSeries, name: string, labels: Labels, value: number): void {
  all.set(keyOf(name, labels), { name, labels, value });
}

/** Makes a histogram exist. */
export function createHistogram(
  all: AllSeries,
  name: string,
  labels: Labels,
  maxModelLen: number | undefined,
): void {
  const key = keyOf(name, labels);
  if (all.has(key)) return;
  const bounds = bucketsOf(name, maxModelLen);
  all.set(key, {
    name,
    labels,
    value: { bounds, buckets: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0, count: 0 },
  });
}

/** Takes a sample into a histogram that exists, unless what came is no count. */
export function observe(all: AllSeries, name: string, labels: Labels, sample: unknown): void {
  if (!isCount(sample)) return;
  const value = Number(sample);
  const histogram = all.get(keyOf(name, labels))!.value as Histogram;
  const bucket = histogram.bounds.findIndex((bound) => value <= bound);
  histogram.buckets[bucket === -1 ? histogram.bounds.length : bucket]! += 1;
  histogram.sum += value;
  histogram.count += 1;
}

/** Takes away every series that has this label value. */
export function removeLabelled(all: AllSeries, label: string, value: string): void {
  for (const [key, { labels }] of all) if (labels[label] === value) all.delete(key);
}

/** Takes away every series of this name. */
export function removeNamed(all: AllSeries, name: string, labels: Labels = {}): void {
  for (const [key, series] of all) {
    const matches = Object.entries(labels).every(([label, value]) => series.labels[label] === value);
    if (series.name === name && matches) all.delete(key);
  }
}

/** What a scrape has to show: every sample by its name and labels, `le` among them. */
export function samplesOf(all: AllSeries): Map<string, number> {
  const samples = new Map<string, number>();
  for (const { name, labels, value } of all.values()) {
    if (typeof value !== 'object') {
      samples.set(keyOf(name, labels), Number(value));
      continue;
    }
    let below = 0;
    for (const [index, count] of value.buckets.entries()) {
      below += count;
      samples.set(keyOf(`${name}_bucket`, { ...labels, le: boundText(value.bounds[index]) }), below);
    }
    samples.set(keyOf(`${name}_sum`, labels), value.sum);
    samples.set(keyOf(`${name}_count`, labels), value.count);
  }
  return samples;
}

/** A finite number that is not negative. */
export function isCount(value: unknown): value is number | bigint {
  if (typeof value === 'bigint') return value >= 0n;
  return typeof value === 'number' && value >= 0 && value < Infinity;
}

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** A bound as Python and Go write it: `1.0`, `0.25`, `1e+06`, `8.589934592e+09`, `+Inf`. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  if (bound >= 1e6) return bound.toExponential().replace(/\+(\d)$/, '+0$1');
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
