import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';

/**
 * Collects garbage and lets finalizers run until `settled`; fails where that does not come. A WeakRef that was looked
 * into keeps its target alive for the rest of the job, hence a turn of the event loop on either side.
 */
export async function collectUntil(settled: () => boolean): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    await collect();
    if (settled()) return;
  }
  assert.fail('still not collected');
}

/** Collects garbage and lets finalizers run, often enough for whatever can be collected. */
export async function collectThoroughly(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await collect();
}

async function collect(): Promise<void> {
  await setImmediate();
  globalThis.gc!();
  await setImmediate();
}
