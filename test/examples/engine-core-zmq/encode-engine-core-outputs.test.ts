import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { encodeEngineCoreOutputs } from '../../../examples/engine-core-zmq/encode-engine-core-outputs.ts';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import { Random } from '../../../examples/simulated-engine/random.ts';
import { Simulation } from '../../../examples/simulated-engine/simulation.ts';
import { generateWorkload, withHangUps } from '../../../examples/simulated-engine/workload.ts';
import { decodeEngineCoreOutputs } from '../../../src/engine-core/decode-engine-core-outputs.ts';
import type { EngineCoreOutput, EngineCoreOutputs } from '../../../src/engine/messages.ts';

const hex = (message: EngineCoreOutputs): string =>
  Buffer.from(encodeEngineCoreOutputs(message)).toString('hex');

/** The positions of the only output of a message, as they are on the wire. */
const positions = (output: EngineCoreOutput): unknown => {
  const [, [fields]] = decode(encodeEngineCoreOutputs({ outputs: [output] })) as [number, unknown[]];
  return fields;
};

const simulatedMessages = (): readonly EngineCoreOutputs[] => {
  const random = new Random(1);
  const requests = generateWorkload({ rate: 8, duration: 10, random: random.fork() });
  const workload = withHangUps(requests, 0.2, random.fork());
  const engines = [3, 70].map((index) => new SimulatedEngine({ index, kvBlocks: 256, clockOffset: index }));
  const messages: EngineCoreOutputs[] = [];
  for (const event of new Simulation({ engines, workload })) {
    if (event.kind === 'message') messages.push(event.message);
  }
  return messages;
};

describe('encodeEngineCoreOutputs', () => {
  it('leaves the defaults at the end out', () => {
    expect(hex({})).toBe('90');
    expect(hex({ engine_index: 0, outputs: [], scheduler_stats: null, timestamp: 0 })).toBe('90');
    expect(hex({ engine_index: 2 })).toBe('9102');
    expect(positions({ request_id: 'a' })).toEqual(['a', []]);
  });

  it('writes the defaults in between', () => {
    // An array of six: engine 0, no outputs, no statistics, time 0, no reply, the id "a".
    expect(hex({ finished_requests: ['a'] })).toBe('960090c000c091a161');
    expect(positions({ request_id: 'a', num_nans_in_logits: 1 })).toEqual([
      'a',
      [],
      ...Array<null>(11).fill(null),
      1,
    ]);
  });

  it('writes a stop, whose code 0 is no default', () => {
    expect(positions({ request_id: 'a', new_token_ids: [7], finish_reason: 0 })).toEqual([
      'a',
      [7],
      null,
      null,
      null,
      0,
    ]);
  });

  it('writes statistics as a map with every key', () => {
    const [, , stats] = decode(encodeEngineCoreOutputs({ scheduler_stats: { num_running_reqs: 3 } })) as [
      number,
      unknown[],
      Record<string, unknown>,
    ];
    expect(stats).toMatchObject({
      num_running_reqs: 3,
      num_waiting_reqs: 0,
      kv_cache_eviction_events: [],
      perf_stats: null,
    });
  });

  it('loses nothing of what a simulated engine says', () => {
    const messages = simulatedMessages();
    const outputs = messages.flatMap((message) => message.outputs ?? []);
    const events = outputs.flatMap((output) => output.events ?? []);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set([1, 2, 3]));
    expect(new Set(outputs.map(({ finish_reason: reason }) => reason))).toEqual(new Set([null, 0, 1]));
    for (const message of messages) {
      const decoded = decodeEngineCoreOutputs(encodeEngineCoreOutputs(message));
      expect(decoded.engine_index).toBe(message.engine_index);
      expect(decoded.timestamp).toBe(message.timestamp);
      expect(decoded.finished_requests ?? null).toEqual(message.finished_requests);
      expect(decoded.scheduler_stats).toMatchObject(message.scheduler_stats!);
      expect(decoded.outputs!.map(comparable)).toEqual(message.outputs!.map(comparable));
    }
  });
});

/** What a decoder keeps of an output: of token ids only how many there are. */
const comparable = (output: EngineCoreOutput): unknown => ({
  id: output.request_id,
  tokens: output.new_token_ids?.length,
  reason: output.finish_reason ?? null,
  events: output.events ?? null,
  prefill: output.prefill_stats ?? null,
});
