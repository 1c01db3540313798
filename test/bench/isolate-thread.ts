// The other side of an Isolate.
import { parentPort, workerData } from 'node:worker_threads';
import { allocationsOf, type Allocations } from './allocations.ts';
import type { Candidate } from './candidate.ts';
import type { Command, IsolateData, Round } from './isolate.ts';
import { works } from './works.ts';

/** What is prepared takes memory. */
const UNITS_AT_A_TIME = 4000;

const { work, positions } = workerData as IsolateData;
const { candidates } = await works[work]();
const made = new Map(positions.map((position) => [position, candidates[position]!()]));

parentPort?.on('message', async (command: Command) => {
  parentPort?.postMessage(await execute(command), []);
});
parentPort?.postMessage(
  [...made.values()].map(({ name }) => name),
  [],
);

async function execute({ kind, position, units }: Command): Promise<unknown> {
  const candidate = made.get(position)!;
  if (kind === 'counts') return candidate.counts();
  if (kind === 'time') return time(candidate, units);
  return allocations(candidate, units);
}

function time(candidate: Candidate, units: number): Round {
  candidate.prepare?.(units);
  globalThis.gc?.({ type: 'minor' });
  const startCpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  runUnits(candidate, units);
  const wall = Number(process.hrtime.bigint() - start);
  const { user, system } = process.cpuUsage(startCpu);
  return { wall, cpu: (user + system) * 1000 };
}

function allocations(candidate: Candidate, units: number): Allocations {
  let bytes = 0;
  let collections = 0;
  for (let done = 0; done < units; done += UNITS_AT_A_TIME) {
    const now = Math.min(UNITS_AT_A_TIME, units - done);
    candidate.prepare?.(now);
    const allocated = allocationsOf(() => runUnits(candidate, now));
    bytes += allocated.bytes;
    collections += allocated.collections;
  }
  return { bytes, collections };
}

function runUnits(candidate: Candidate, units: number): void {
  for (let unit = 0; unit < units; unit += 1) candidate.run();
}
