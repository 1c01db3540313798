/**
 * What `histogram_quantile` makes of these samples: linear within the bucket that holds the rank, from 0 in the first, and the
 * last boundary where the rank is above all of them.
 */
export function interpolatedQuantile(
  q: number,
  samples: readonly number[],
  boundaries: readonly number[],
): number {
  const upTo = (bound: number): number => samples.filter((sample) => sample <= bound).length;
  const rank = q * samples.length;
  const position = boundaries.findIndex((bound) => upTo(bound) >= rank);
  const upper = boundaries[position];
  if (upper === undefined) return boundaries.at(-1)!;
  const lower = boundaries[position - 1] ?? 0;
  const below = position === 0 ? 0 : upTo(lower);
  return lower + ((upper - lower) * (rank - below)) / (upTo(upper) - below);
}
