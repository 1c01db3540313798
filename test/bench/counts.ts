import type { Candidate } from './candidate.ts';

/** What a candidate has counted, by name. */
export type Counts = Readonly<Record<string, number>>;

/** Sums of fractions depend on the order they are added up in. */
const TOLERANCE = 1e-9;

/**
 * Requires that all candidates counted the same: whole numbers exactly, others to 1e-9 of their size.
 *
 * @throws Error that lists what differs.
 */
export async function requireSameCounts(
  candidates: readonly Pick<Candidate, 'name' | 'counts'>[],
): Promise<void> {
  const counts = await Promise.all(candidates.map((candidate) => candidate.counts()));
  const names = new Set(counts.flatMap((count) => Object.keys(count)));
  const differences = [...names].filter(
    (name) => !counts.every((count) => same(count[name], counts[0]?.[name])),
  );
  if (names.size > 0 && differences.length === 0) return;
  const lines = candidates.map(({ name }, position) => {
    const given = differences.map((difference) => `${difference} ${counts[position]?.[difference]}`);
    return `  ${name}: ${given.join(', ')}`;
  });
  throw new Error(
    `the candidates did not count the same, so their times can't be compared:\n${lines.join('\n')}`,
  );
}

function same(a: number | undefined, b: number | undefined): boolean {
  if (a === undefined || b === undefined || Number.isNaN(a)) return false;
  if (a === b) return true;
  const areWhole = Number.isInteger(a) && Number.isInteger(b);
  return !areWhole && Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}
