import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Effort } from './candidate.ts';
import { summarize } from './compare.ts';
import { requireSameCounts, type Counts } from './counts.ts';
import { ENGINES, tokensOf, VARIANTS, type TickTime } from './logged-service.ts';
import type { Table } from './table.ts';

/** Ticks of a round. */
const TICKS = 40;
/** So many until the code is compiled, where it is measured at full length. */
const WARM_UP_ROUNDS = 10;

/** What the thread of a service is started with. */
export interface StatsLogData {
  /** Of the variant. */
  readonly position: number;
}

/** What a service says of a round. */
export interface LoggedRound {
  readonly times: readonly TickTime[];
  /** What the lines of the last tick tell. */
  readonly counts: Counts;
  /** How many lines the last tick had, and how many bytes these. */
  readonly lines: number;
  readonly bytes: number;
}

/** A tick of the stats log over 256 engines: reading them, making their lines, and handing them to a logger. */
export async function statsLogTick({ rounds, scale }: Effort): Promise<Table> {
  const workers = VARIANTS.map((_, position) => startService(position));
  const ticks = Math.ceil(TICKS * scale);
  const last: LoggedRound[] = [];
  const samples = VARIANTS.map((): TickTime[] => []);
  const warmUp = Math.ceil(WARM_UP_ROUNDS * scale);
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [position, worker] of workers.entries()) {
      const outcome = await run(worker, ticks);
      last[position] = outcome;
      if (round >= 0) samples[position]!.push(...outcome.times);
    }
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  const services = VARIANTS.map(({ name }, position) => ({
    name,
    counts: () => Promise.resolve(last[position]!.counts),
  }));
  await requireSameCounts([EXPECTED, ...services]);
  return {
    title: `Tick of the stats log over ${ENGINES} engines`,
    columns: [
      { name: 'ms', digits: 3 },
      { name: 'fastest', digits: 3 },
      { name: 'slowest', digits: 3 },
      { name: 'CPU ms', digits: 3 },
      { name: 'lines', digits: 0 },
      { name: 'bytes', digits: 0 },
    ],
    rows: VARIANTS.map(({ name }, position) => {
      const { median, fastest, slowest } = summarize(samples[position]!.map(({ wall }) => wall));
      const cpu = samples[position]!.reduce((sum, sample) => sum + sample.cpu, 0) / samples[position]!.length;
      const { lines, bytes } = last[position]!;
      return { name, values: [median, fastest, slowest, cpu, lines, bytes] };
    }),
  };
}

/** What the lines of each tick are to tell. */
const EXPECTED = {
  name: 'what was recorded',
  counts: async (): Promise<Counts> => {
    const tokens = Array.from({ length: ENGINES }, (_, index) => tokensOf(index));
    return { generated: tokens.reduce((sum, count) => sum + count, 0) };
  },
};

/** Each lives in an isolate of its own: a service has one log, whose code no other way of logging spoils. */
function startService(position: number): Worker {
  const workerData: StatsLogData = { position };
  return new Worker(new URL('stats-log-thread.ts', import.meta.url), { workerData });
}

/** Rejects with what the thread throws. */
async function run(worker: Worker, ticks: number): Promise<LoggedRound> {
  worker.postMessage(ticks, []);
  const [outcome] = (await once(worker, 'message')) as [LoggedRound];
  return outcome;
}
