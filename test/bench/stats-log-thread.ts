// A service with a stats log, in an isolate of its own, which runs as many ticks as it is told to.
import { parentPort, workerData } from 'node:worker_threads';
import { LoggedService, VARIANTS } from './logged-service.ts';
import type { LoggedRound, StatsLogData } from './stats-log-tick.ts';

const { position } = workerData as StatsLogData;
const service = new LoggedService(VARIANTS[position]!);

parentPort?.on('message', (ticks: number) => {
  const times = service.run(ticks);
  const round: LoggedRound = { times, counts: service.counts(), lines: service.lines, bytes: service.bytes };
  parentPort?.postMessage(round, []);
});
