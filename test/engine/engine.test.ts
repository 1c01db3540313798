import { describe, expect, it } from 'vitest';
import type { EngineCoreOutputs } from '../../src/engine/messages.ts';
import { message, output } from '../support/messages.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

describe('a message', () => {
  it('goes to the engine of its index, sparse and in any order, known or not', async () => {
    const { vllm, read } = startService();
    for (const index of [65_535, 3, 40]) {
      vllm.engine(index).startRequest({ requestId: 'r' });
      vllm.observe({
        engine_index: index,
        outputs: [output('r', index, { finish_reason: 1 })],
        scheduler_stats: { num_running_reqs: index },
      });
    }
    vllm.observe({ engine_index: 7, scheduler_stats: { num_running_reqs: 7 } });
    expect(vllm.engineIndices).toEqual([0, 3, 7, 40, 65_535]);
    const reading = await read();
    for (const index of [3, 40, 65_535]) {
      const labels = { engine: String(index) };
      expect(reading.value('vllm:generation_tokens', labels)).toBe(index);
      expect(reading.value('vllm:num_requests_running', labels)).toBe(index);
      expect(endings(reading, labels)).toEqual({ length: 1 });
    }
    expect(reading.value('vllm:num_requests_running', { engine: '7' })).toBe(7);
    expect(endings(reading, { engine: '7' })).toEqual({});
    expect(reading.value('vllm:num_requests_running')).toBe(0);
  });

  it('without an index goes to engine 0, the default on the wire', async () => {
    const { vllm, read } = startService();
    vllm.observe({ scheduler_stats: { num_running_reqs: 4 } });
    vllm.observe({ engine_index: null as unknown as undefined, scheduler_stats: { num_waiting_reqs: 1 } });
    const reading = await read();
    expect(reading.value('vllm:num_requests_waiting')).toBe(1);
    expect(vllm.engineIndices).toEqual([0]);
  });

  it.each([
    [-1],
    [0.5],
    [65_536],
    [Number.NaN],
    [Infinity],
    ['0'],
    [{}],
    [true],
    [0n],
    [Symbol('0')],
    [Object.create(null)],
  ])('with an index that is none is dropped as a whole and counted: %s', async (index) => {
    const { vllm, engine, read, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    vllm.observe({ ...message(1, output('r', 1, { finish_reason: 0 })), engine_index: index as number });
    expect(request.ended).toBe(false);
    expect(vllm.engineIndices).toEqual([0]);
    expect((await read()).value('vllm:generation_tokens')).toBe(0);
    expect(dropped()).toEqual({ invalidEngineIndex: 1 });
  });

  it.each([[null], [undefined], [5], ['message'], [true], [Symbol('message')]])(
    'that is %s is dropped and counted',
    (garbage) => {
      const { vllm, dropped } = startService();
      vllm.observe(garbage as unknown as EngineCoreOutputs);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it.each(['engine_index', 'outputs', 'timestamp', 'scheduler_stats', 'finished_requests'])(
    'that fails to give its %s when it is read is counted and goes no further',
    (field) => {
      const { vllm, engine, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      const whole = { ...message(1, output('r', 1)), scheduler_stats: {}, finished_requests: [] };
      const lazy = Object.defineProperty(whole, field, {
        get: (): never => {
          throw new RangeError('truncated');
        },
      });
      vllm.observe(lazy);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('whose statistics fail to be read keeps its outputs', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const scheduler_stats = {
      get num_running_reqs(): never {
        throw new RangeError('truncated');
      },
    };
    vllm.observe({ ...message(1, output('r', 1, { finish_reason: 0 })), scheduler_stats });
    engine.recordSchedulerStats(scheduler_stats);
    expect(endings(await read())).toEqual({ stop: 1 });
    expect(dropped()).toEqual({ malformedMessage: 2 });
  });

  it.each([[{}], [[]], [Object.create(null)], [new Map()], [{ utility_output: {}, wave_complete: 3 }]])(
    'that says nothing of requests or statistics is no mistake: %s',
    (nothing) => {
      const { vllm, dropped } = startService();
      vllm.observe(nothing as EngineCoreOutputs);
      expect(dropped()).toEqual({});
    },
  );
});

describe('an engine', () => {
  it('is made at the first call, and is the same from then on', () => {
    const { vllm } = startService();
    expect(vllm.engine(3)).toBe(vllm.engine(3));
    expect(vllm.engine(3).index).toBe(3);
    expect(vllm.engineIndices).toEqual([0, 3]);
  });

  it.each([[-1], [0.5], [65_536], [Number.NaN], [Infinity], ['0'], [undefined], [null], [{}]])(
    'has no index %s: that is a mistake of the program',
    (index) => {
      const { vllm } = startService();
      expect(() => vllm.engine(index as number)).toThrow(
        new TypeError(
          `engine index must be a whole number from 0 to 65535, for at most 4096 engines; got ${String(index)}`,
        ),
      );
    },
  );

  it('is one of at most 4096', async () => {
    const { vllm, dropped } = startService();
    for (let index = 1; index < 4096; index += 1) vllm.engine(index);
    expect(() => vllm.engine(4096)).toThrow(TypeError);
    expect(vllm.engine(4095).index).toBe(4095);
    vllm.observe({ engine_index: 4096, scheduler_stats: {} });
    expect(vllm.status().engines).toBe(4096);
    expect(dropped()).toEqual({ invalidEngineIndex: 1 });
  });
});
