import { IntervalAccumulator, type ObservedInterval } from '../engine/interval-accumulator.ts';
import type { NixlInterval } from '../engine/nixl-interval.ts';
import type { EngineCounters, EngineStats } from '../engine/stats-source.ts';

/** What one engine, or several together, did in one interval, and where they stood at its end. */
export interface EngineInterval extends EngineCounters, Standing {}

/** All but the counters. */
interface Standing {
  /** How many engines. */
  readonly engines: number;
  /** Requests in the running set, 0 for an engine that has gone. */
  readonly running: number;
  /** Requests that wait for capacity. */
  readonly waiting: number;
  /** Requests that the scheduler set aside. */
  readonly deferred: number;
  /** KV blocks in use as a ratio, averaged over the engines still there; undefined where there is none. */
  readonly kvCacheUsage: number | undefined;
  readonly observed: ObservedInterval;
}

/** The interval of one engine between two readings. */
export function intervalBetween(
  before: EngineStats,
  now: EngineStats,
  observed: ObservedInterval,
): EngineInterval {
  const { running, waiting, deferred, kvCacheUsage } = now;
  const standing = { engines: 1, running, waiting, deferred, kvCacheUsage, observed };
  return combine(before, now, increase, standing);
}

/** The same interval of an engine that is no longer there: what it did stands, where it stood doesn't. */
export function withoutGauges(interval: EngineInterval): EngineInterval {
  return { ...interval, running: 0, waiting: 0, deferred: 0, kvCacheUsage: undefined };
}

/** @param engines - How many engines the intervals are of. */
export function mergeIntervals(intervals: Iterable<EngineInterval>, engines: number): EngineInterval {
  const accumulator = new IntervalAccumulator();
  let merged: EngineCounters = NO_COUNTERS;
  let running = 0;
  let waiting = 0;
  let deferred = 0;
  let usage = 0;
  let present = 0;
  for (const interval of intervals) {
    merged = combine(merged, interval, add, interval);
    running += interval.running;
    waiting += interval.waiting;
    deferred += interval.deferred;
    if (interval.kvCacheUsage !== undefined) {
      usage += interval.kvCacheUsage;
      present += 1;
    }
    accumulator.merge(interval.observed);
  }
  const kvCacheUsage = present > 0 ? usage / present : undefined;
  const observed = accumulator.drain();
  return { ...merged, engines, running, waiting, deferred, kvCacheUsage, observed };
}

/** Whether anything moved in the interval. */
export function sawAnything({ observed, ...interval }: EngineInterval): boolean {
  const { specDecode, cudagraph, nixl } = observed;
  if ((specDecode?.drafts ?? 0) > 0 || cudagraph !== undefined || hasTransfers(nixl)) return true;
  return (Object.keys(NO_COUNTERS) as (keyof EngineCounters)[]).some((name) => interval[name] > 0);
}

function hasTransfers(nixl: NixlInterval | undefined): boolean {
  if (nixl === undefined) return false;
  const { transfers, posts, failedTransfers, failedNotifications, kvExpiredRequests } = nixl;
  return transfers.count + posts.count + failedTransfers + failedNotifications + kvExpiredRequests > 0;
}

/** Of an engine that has done nothing. */
export const NO_COUNTERS: EngineCounters = {
  promptTokens: 0,
  generationTokens: 0,
  preemptions: 0,
  prefixCacheQueries: 0,
  prefixCacheHits: 0,
  externalPrefixCacheQueries: 0,
  externalPrefixCacheHits: 0,
  mmCacheQueries: 0,
  mmCacheHits: 0,
  flopsPerGpu: 0,
  readBytesPerGpu: 0,
  writeBytesPerGpu: 0,
};

/** In one literal: spreading one object into another takes more than twice as long, for each engine and line. */
function combine(
  a: EngineCounters,
  b: EngineCounters,
  operation: (a: number, b: number) => number,
  { engines, running, waiting, deferred, kvCacheUsage, observed }: Standing,
): EngineInterval {
  return {
    promptTokens: operation(a.promptTokens, b.promptTokens),
    generationTokens: operation(a.generationTokens, b.generationTokens),
    preemptions: operation(a.preemptions, b.preemptions),
    prefixCacheQueries: operation(a.prefixCacheQueries, b.prefixCacheQueries),
    prefixCacheHits: operation(a.prefixCacheHits, b.prefixCacheHits),
    externalPrefixCacheQueries: operation(a.externalPrefixCacheQueries, b.externalPrefixCacheQueries),
    externalPrefixCacheHits: operation(a.externalPrefixCacheHits, b.externalPrefixCacheHits),
    mmCacheQueries: operation(a.mmCacheQueries, b.mmCacheQueries),
    mmCacheHits: operation(a.mmCacheHits, b.mmCacheHits),
    flopsPerGpu: operation(a.flopsPerGpu, b.flopsPerGpu),
    readBytesPerGpu: operation(a.readBytesPerGpu, b.readBytesPerGpu),
    writeBytesPerGpu: operation(a.writeBytesPerGpu, b.writeBytesPerGpu),
    engines,
    running,
    waiting,
    deferred,
    kvCacheUsage,
    observed,
  };
}

function add(a: number, b: number): number {
  return a + b;
}

/** A counter that went back has begun anew. */
function increase(before: number, now: number): number {
  if (now >= before) return now - before;
  return now > 0 ? now : 0;
}
