/** One way of doing the same work. */
export interface Candidate {
  readonly name: string;
  /** Does one unit of the work. */
  run(): void;
  /** What was counted since the candidate was made: the same work must give the same counts. */
  counts(): Promise<Readonly<Record<string, number>>>;
}

/** What one candidate took. */
export interface Timing {
  readonly name: string;
  /** Median over the rounds, nanoseconds per unit of work. */
  readonly nanoseconds: number;
  /** Fastest and slowest round, nanoseconds per unit of work. */
  readonly range: readonly [number, number];
}

/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  /** Units of work in a round of one candidate. */
  readonly unitsPerRound: number;
}

/**
 * Times the candidates in turn, round by round, so that the machine's changes of pace meet all of them alike.
 *
 * @throws Error when, after all rounds, the candidates did not count the same.
 */
export async function compare(candidates: readonly Candidate[], effort: Effort): Promise<readonly Timing[]> {
  const rounds = new Map<Candidate, number[]>(candidates.map((candidate) => [candidate, []]));
  for (const candidate of candidates) runUnits(candidate, effort.unitsPerRound);
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const candidate of candidates) {
      const start = process.hrtime.bigint();
      runUnits(candidate, effort.unitsPerRound);
      const took = Number(process.hrtime.bigint() - start);
      rounds.get(candidate)?.push(took / effort.unitsPerRound);
    }
  }
  await requireSameCounts(candidates);
  return candidates.map((candidate) => timing(candidate.name, rounds.get(candidate) ?? []));
}

function runUnits(candidate: Candidate, units: number): void {
  for (let unit = 0; unit < units; unit += 1) candidate.run();
}

async function requireSameCounts(candidates: readonly Candidate[]): Promise<void> {
  const counts = await Promise.all(candidates.map((candidate) => candidate.counts()));
  const texts = counts.map((count) => JSON.stringify(count));
  if (new Set(texts).size === 1) return;
  const lines = candidates.map((candidate, position) => `  ${candidate.name}: ${texts[position]}`);
  throw new Error(
    `the candidates did not count the same, so their times can't be compared:\n${lines.join('\n')}`,
  );
}

function timing(name: string, samples: readonly number[]): Timing {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { name, nanoseconds: at(0.5), range: [at(0), at(1)] };
}

/** The timings as a table, each compared with the last row. */
export function toTable(title: string, timings: readonly Timing[]): string {
  const reference = timings.at(-1);
  const rows = timings.map(({ name, nanoseconds, range }) => [
    name,
    microseconds(nanoseconds),
    `${microseconds(range[0])} to ${microseconds(range[1])}`,
    reference === undefined ? '' : `${(nanoseconds / reference.nanoseconds).toFixed(1)}×`,
  ]);
  const table = [['', 'median', 'range', 'relative'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const lines = table.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function microseconds(nanoseconds: number): string {
  return `${(nanoseconds / 1000).toFixed(2)} µs`;
}
