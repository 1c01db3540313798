import type { EngineCoreEvent, EngineCoreOutput, EngineCoreOutputs } from '../../src/engine/messages.ts';

export const queued = (timestamp: number): EngineCoreEvent => ({ type: 1, timestamp });
export const scheduled = (timestamp: number): EngineCoreEvent => ({ type: 2, timestamp });
export const preempted = (timestamp: number): EngineCoreEvent => ({ type: 3, timestamp });

/** An output with so many tokens. */
export function output(id: string, tokens: number, more: Partial<EngineCoreOutput> = {}): EngineCoreOutput {
  return { request_id: id, new_token_ids: { length: tokens }, ...more };
}

/** A message of engine 0 that was stamped then. */
export function message(timestamp: number, ...outputs: readonly EngineCoreOutput[]): EngineCoreOutputs {
  return { engine_index: 0, timestamp, outputs };
}
