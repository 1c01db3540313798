import { setImmediate } from 'node:timers/promises';
import { GCProfiler, getHeapStatistics } from 'node:v8';

/** What some work allocated. */
export interface Allocations {
  /** Bytes of the JavaScript heap, collected since or not. */
  readonly bytes: number;
  /** Garbage collections while it ran. */
  readonly collections: number;
}

/** Counts what `run` allocates: how the heap grew from its start to its end, and between the collections on the way. */
export function allocationsOf(run: () => void): Allocations {
  globalThis.gc?.();
  const profiler = new GCProfiler();
  profiler.start();
  let base = getHeapStatistics().used_heap_size;
  run();
  const end = getHeapStatistics().used_heap_size;
  const { statistics } = profiler.stop();
  let bytes = 0;
  for (const { beforeGC, afterGC } of statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - base;
    base = afterGC.heapStatistics.usedHeapSize;
  }
  return { bytes: bytes + end - base, collections: statistics.length };
}

/** What the engine's own bookkeeping goes up and down by. */
const TOLERANCE_BYTES = 4096;

/**
 * The bytes of the JavaScript heap that are in use once everything unreachable has been collected, what finalizers held
 * on to included.
 */
export async function settledHeap(): Promise<number> {
  let settled = Infinity;
  // What was compiled and not run lately goes too; otherwise it would go at some time between two measurements.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  for (let unchanged = 0; unchanged < 3;) {
    globalThis.gc?.();
    await setImmediate();
    const { used_heap_size: used } = getHeapStatistics();
    unchanged = used < settled - TOLERANCE_BYTES ? 0 : unchanged + 1;
    settled = Math.min(settled, used);
  }
  return settled;
}
