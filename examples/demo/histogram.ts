import { type Sample, sumOf } from './exposition.ts';

/** One bucket: samples above the bound before, up to and including this one. */
interface Bucket {
  /** The number as Prometheus writes it. */
  readonly le: string;
  readonly bound: number;
  readonly count: number;
}

/** A histogram, summed over all other labels than `le`. */
export interface Histogram {
  readonly buckets: readonly Bucket[];
  readonly count: number;
  readonly sum: number;
}

/** Reads a classic histogram from an exposition. The bounds come from there too. */
export function readHistogram(samples: readonly Sample[], name: string): Histogram {
  const spellings = new Set<string>();
  for (const sample of samples) {
    const le = sample.labels.get('le');
    if (sample.name === `${name}_bucket` && le !== undefined) spellings.add(le);
  }
  const buckets: Bucket[] = [];
  let below = 0;
  for (const le of spellings) {
    const cumulative = sumOf(samples, `${name}_bucket`, { le });
    buckets.push({ le, bound: Number(le.replace('Inf', 'Infinity')), count: cumulative - below });
    below = cumulative;
  }
  return { buckets, count: sumOf(samples, `${name}_count`), sum: sumOf(samples, `${name}_sum`) };
}

/** The bound of the bucket that the `q` quantile lies in: all that a histogram of whole numbers can say. */
export function quantileBound({ buckets, count }: Histogram, q: number): number | undefined {
  let seen = 0;
  for (const bucket of buckets) {
    seen += bucket.count;
    if (seen > 0 && seen >= q * count) return bucket.bound;
  }
  return undefined;
}
