import type { Statistic } from './messages.ts';
import { isAmount } from './statistics.ts';

/** The durations that are kept of one interval for quantiles: all up to here, from then on a uniform sample. */
export const MAX_DURATIONS = 8192;

/** Durations of an interval. */
export interface Durations {
  readonly count: number;
  readonly totalSeconds: number;
  /** Seconds each, in no order, at most {@link MAX_DURATIONS}. */
  readonly sample: readonly number[];
}

/** {@link Durations} while they are gathered. */
export interface DurationsTotal extends Durations {
  count: number;
  totalSeconds: number;
  sample: number[];
}

export function newDurations(): DurationsTotal {
  return { count: 0, totalSeconds: 0, sample: [] };
}

/** Adds durations off the wire, without those that can't be right. */
export function addDurations(total: DurationsTotal, durations: readonly Statistic[]): void {
  for (const duration of durations) {
    if (!isAmount(duration)) continue;
    const seconds = Number(duration);
    total.count += 1;
    total.totalSeconds += seconds;
    sample(total, seconds);
  }
}

/** Adds what was gathered elsewhere, which stays as it is. */
export function mergeDurations(total: DurationsTotal, other: Durations): void {
  const { count, sample: kept } = total;
  total.count += other.count;
  total.totalSeconds += other.totalSeconds;
  const room = Math.min(total.count, MAX_DURATIONS);
  if (kept.length + other.sample.length <= room) {
    total.sample = [...kept, ...other.sample];
    return;
  }
  // Each place goes to one of the two by how many each stands for, not by how many each has kept.
  const share = count / total.count;
  const ours = [...kept];
  const theirs = [...other.sample];
  total.sample = Array.from({ length: room }, () => {
    const takesOurs = theirs.length === 0 || (ours.length > 0 && Math.random() < share);
    return drawOne(takesOurs ? ours : theirs);
  });
}

/** Takes any one out of a list that is not empty. */
function drawOne(list: number[]): number {
  const last = list.pop() ?? 0;
  const position = Math.floor(Math.random() * (list.length + 1));
  const drawn = list[position] ?? last;
  if (position < list.length) list[position] = last;
  return drawn;
}

/** Reservoir sampling (Vitter's algorithm R): of more than fit, each is kept with the same probability. */
function sample(total: DurationsTotal, seconds: number): void {
  if (total.sample.length < MAX_DURATIONS) {
    total.sample.push(seconds);
    return;
  }
  const slot = Math.floor(Math.random() * total.count);
  if (slot < MAX_DURATIONS) total.sample[slot] = seconds;
}
