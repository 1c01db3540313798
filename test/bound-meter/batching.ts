import type { Context } from '@opentelemetry/api';
import type { BoundRecorder } from '../../src/bound-meter/index.ts';

/** A bound histogram or gauge, with the call for batches that only this package makes. */
export interface BatchingRecorder extends BoundRecorder {
  recordMany(value: number, count: number, context?: Context): void;
}

export function batching(bound: BoundRecorder): BatchingRecorder {
  return bound as BatchingRecorder;
}
