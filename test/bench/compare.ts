import type { Effort } from './candidate.ts';
import { requireSameCounts } from './counts.ts';
import { Isolate } from './isolate.ts';
import { relativeTo, type Table } from './table.ts';
import { works, type WorkName } from './works.ts';

/**
 * Measures all candidates of a work, and how much they allocate, as a table. They take turns, round by round, so that the
 * machine's changes of pace meet all of them alike.
 *
 * @throws Error when, after all rounds, the candidates did not count the same.
 */
export async function compare(name: WorkName, effort: Effort): Promise<Table> {
  const work = await works[name]();
  const places = await startAll(name, work.candidates.length, work.together === true || !effort.apart);
  try {
    const units = Math.ceil(work.unitsPerRound * effort.scale);
    const rounds = places.map(() => ({ wall: [] as number[], cpu: [] as number[] }));
    for (const { isolate, position } of places) await isolate.time(position, units);
    for (let round = 0; round < effort.rounds; round += 1) {
      for (const { isolate, position } of places) {
        const { wall, cpu } = await isolate.time(position, units);
        rounds[position]!.wall.push(wall);
        rounds[position]!.cpu.push(cpu);
      }
    }
    const bytes: number[] = [];
    for (const { isolate, position } of places) {
      bytes.push((await isolate.allocations(position, units)).bytes);
    }
    await requireSameCounts(
      places.map((place) => ({ name: place.name, counts: () => place.isolate.counts(place.position) })),
    );
    const items = units * work.itemsPerUnit;
    const wall = rounds.map((samples) => summarize(samples.wall));
    const cpu = rounds.map((samples) => summarize(samples.cpu));
    const reference = work.reference === 'first' ? 0 : -1;
    const relativeWall = relativeTo(wall.at(reference)?.median);
    const relativeCpu = relativeTo(cpu.at(reference)?.median);
    return {
      title: work.title,
      columns: [
        { name: `ns per ${work.item}`, digits: 1 },
        { name: 'fastest', digits: 1 },
        { name: 'slowest', digits: 1 },
        { name: 'relative', digits: 2, suffix: '×' },
        { name: 'CPU ns', digits: 1 },
        { name: 'relative CPU', digits: 2, suffix: '×' },
        { name: `bytes per ${work.item}`, digits: 2 },
      ],
      rows: places.map((place, position) => {
        const { median, fastest, slowest } = wall[position]!;
        const cpuMedian = cpu[position]!.median;
        return {
          name: place.name,
          values: [
            median / items,
            fastest / items,
            slowest / items,
            relativeWall(median),
            cpuMedian / items,
            relativeCpu(cpuMedian),
            bytes[position]! / items,
          ],
        };
      }),
    };
  } finally {
    await Promise.all(places.map(({ isolate }) => isolate.close()));
  }
}

/** Where a candidate lives. */
interface Place {
  readonly name: string;
  readonly isolate: Isolate;
  readonly position: number;
}

async function startAll(work: WorkName, count: number, together: boolean): Promise<readonly Place[]> {
  const positions = Array.from({ length: count }, (_, position) => position);
  const groups = together ? [positions] : positions.map((position) => [position]);
  const places: Place[] = [];
  for (const group of groups) {
    const isolate = await Isolate.start(work, group);
    for (const [index, position] of group.entries()) {
      places.push({ name: isolate.names[index]!, isolate, position });
    }
  }
  return places;
}

/** Median and range. */
export interface Spread {
  readonly median: number;
  readonly fastest: number;
  readonly slowest: number;
}

/** Of all rounds. */
export function summarize(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { median: at(0.5), fastest: at(0), slowest: at(1) };
}
