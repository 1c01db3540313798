import type { HistogramMetric } from './metric.ts';
import { requireOption } from './require-option.ts';

/** Bucket bounds for token counts where the model's context length is not known. */
export const TOKEN_BOUNDARIES: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 131_072,
];

/** Bucket bounds, in seconds, for phases of a whole request. */
export const REQUEST_SECONDS_BOUNDARIES: readonly number[] = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];

/** Bucket bounds, in seconds, for the time from arrival to the first token. */
export const FIRST_TOKEN_SECONDS_BOUNDARIES: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
  2560,
];

/** Bucket bounds, in seconds, for the time between tokens. */
export const TOKEN_GAP_SECONDS_BOUNDARIES: readonly number[] = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];

/** Bucket bounds, in seconds, for how long a KV block stays in the cache. */
export const KV_BLOCK_SECONDS_BOUNDARIES: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800,
];

/** Bucket bounds, in bytes, for one move of KV blocks to or from an offload tier: 1 to 200 MB. */
export const OFFLOAD_BYTES_BOUNDARIES: readonly number[] = [1, 5, 10, 20, 40, 60, 80, 100, 150, 200].map(
  (megabytes) => megabytes * 1e6,
);

/**
 * The series 1, 2, 5, 10, 20, 50, … up to the largest value that is not above `max`: the rule by which vLLM's
 * Python frontend sizes its token buckets to the model's context length.
 *
 * @param max - A safe integer of at least 1; see `requireMaxModelLen` for the check at the door.
 */
export function oneTwoFive(max: number): readonly number[] {
  const boundaries: number[] = [];
  for (let decade = 1; decade <= max; decade *= 10) {
    for (const mantissa of [1, 2, 5]) {
      if (mantissa * decade <= max) boundaries.push(mantissa * decade);
    }
  }
  return boundaries;
}

/**
 * The bucket bounds of a histogram for a model with the given context length.
 *
 * @param maxModelLen - The longest sequence in tokens; the fixed list stands where it is undefined.
 */
export function boundariesFor(metric: HistogramMetric, maxModelLen: number | undefined): readonly number[] {
  return metric.cappedByMaxModelLen && maxModelLen !== undefined
    ? oneTwoFive(maxModelLen)
    : metric.boundaries;
}

/**
 * Checks a model context length given as an option.
 *
 * @throws TypeError when it is not a whole number of tokens from 1 to 2^53 - 1.
 */
export function requireMaxModelLen(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const isValid = Number.isSafeInteger(value) && (value as number) >= 1;
  requireOption(
    'maxModelLen',
    "a whole number of tokens, 1 or more (the model's context length)",
    value,
    isValid,
  );
  return value as number;
}
