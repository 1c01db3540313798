import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import type { EngineCoreOutputs } from '../../src/engine/messages.ts';
import { Growth } from '../fuzz/growth.ts';
import { HOSTILE, timesThrown } from './hostile.ts';
import { Sentinel } from '../fuzz/sentinel.ts';
import { define, placesIn, wholeMessage } from './whole-message.ts';
import { collectThoroughly } from '../support/garbage.ts';
import { message, output, preempted } from '../support/messages.ts';
import { endings } from '../support/per-request.ts';
import { startService, type Service } from '../support/service.ts';

/** Every place of a message but the outputs of the healthy request. */
const PLACES = placesIn(
  wholeMessage('victim', (others) => [output('first', 0), ...others, output('last', 0)]),
).filter((place) => !/^outputs\.[02]/.test(place));

/** Where something else stands, the healthy outputs are not in the message, or it is not one of their engine. */
const LOSES_ALL: ReadonlySet<string> = new Set(['outputs', 'engine_index', 'engine_dead']);

/** A service under attack. */
class Siege {
  readonly service: Service = startService({ maxLoras: 2 });
  readonly #growth = new Growth();
  #messages = 0;

  /** Observes a message that holds odd things at these places, and checks everything but the collection. */
  attack(oddities: readonly (readonly [place: string, property: PropertyDescriptor])[]): void {
    const { vllm, engine, traced } = this.service;
    this.#messages += 1;
    const victim = `victim-${this.#messages}`;
    engine.startRequest({ requestId: victim, loraName: 'adapter' });
    const sentinel = new Sentinel(vllm, 0, `sentinel-${this.#messages}`);
    const hostile = wholeMessage(victim, (others) => sentinel.around(others));
    // What stands within another place goes first.
    for (const [place, property] of oddities.toSorted(([one], [other]) => other.length - one.length)) {
      define(hostile, place, property);
    }
    const before = { thrown: timesThrown(), dropped: this.#dropped() };
    vllm.observe(hostile, 1001);
    expect(this.#dropped() - before.dropped).toBeGreaterThanOrEqual(timesThrown() > before.thrown ? 1 : 0);
    if (!oddities.some(([place]) => LOSES_ALL.has(place))) sentinel.check(traced.spans);
  }

  async collect(): Promise<void> {
    this.#growth.check(await this.service.read());
  }

  #dropped(): number {
    return Object.values(this.service.vllm.status().dropped).reduce((sum, count) => sum + count, 0);
  }
}

describe('a message with anything at all in one place', () => {
  it.each(PLACES)(
    'throws nothing, shrinks nothing and costs no healthy request a sample: %s',
    async (place) => {
      const siege = new Siege();
      const faults: string[] = [];
      for (const [kind, property] of HOSTILE) {
        try {
          // Twice: of two that are too large, the sum may be infinite.
          siege.attack([[place, property]]);
          siege.attack([[place, property]]);
          await siege.collect();
        } catch (error) {
          faults.push(`${kind}: ${String(error)}`);
        }
      }
      expect(faults).toEqual([]);
    },
  );
});

describe('messages with anything at all in several places', () => {
  const oddity = fc.tuple(fc.nat(PLACES.length - 1), fc.nat(HOSTILE.length - 1));
  const messages = fc.array(fc.array(oddity, { minLength: 1, maxLength: 6 }), { maxLength: 10 });

  it('throw nothing, shrink nothing and cost no healthy request a sample', async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (all) => {
        const siege = new Siege();
        for (const oddities of all) {
          siege.attack(oddities.map(([place, kind]) => [PLACES[place]!, HOSTILE[kind]![1]]));
          await siege.collect();
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('what is no message', () => {
  it('throws nothing, and is counted', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const growth = new Growth();
    const odd = HOSTILE.flatMap(([, { value }]) =>
      typeof value === 'object' && value !== null ? [] : [value as unknown],
    );
    for (const value of odd) vllm.observe(value as EngineCoreOutputs, value as number);
    growth.check(await read());
    expect(vllm.status().requestsInFlight).toBe(1);
    expect(dropped()).toEqual({ malformedMessage: odd.length });
  });
});

describe('a frame of an engine', () => {
  it.each<[string, unknown]>([
    ['-1', -1],
    ['a fraction', 0.5],
    ['more than two bytes', 65_536],
    ['more than 2^53', 2n ** 64n - 1n],
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
  ])('whose index cannot be is dropped whole, and counted: %s', async (_, index) => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const frame = encode([index, [['r', [1]]], { num_running_reqs: 5 }, 1], { useBigInt64: true });
    vllm.observe(decodeEngineCoreOutputs(frame));
    expect(vllm.engineIndices).toEqual([0]);
    const reading = await read();
    expect(reading.value('vllm:generation_tokens')).toBe(0);
    expect(reading.value('vllm:num_requests_running')).toBe(0);
    expect(dropped()).toEqual({ invalidEngineIndex: 1 });
  });

  it('that sends -1 for what it has not set counts 0', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const prefill = { num_prompt_tokens: 7, num_computed_tokens: 7, num_cached_tokens: -1 };
    const unset = Array.from({ length: 9 }, () => null);
    vllm.observe(decodeEngineCoreOutputs(encode([0, [['r', [1], ...unset, prefill]], null, 1])));
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(7);
    expect(reading.value('vllm:prompt_tokens_cached')).toBe(0);
    expect(dropped()).toEqual({});
  });

  it.each([
    ['a utility reply', [0, [], null, 0, [1, null, ['a', 1]]]],
    ['a wave that is complete', [0, [], null, 0, null, null, 5]],
    ['a wave that starts', [0, [], null, 0, null, null, null, 5]],
    ['notifications', [0, [], null, 0, null, null, null, null, [{ kind: 'weights' }]]],
  ])('that holds nothing to record moves nothing: %s', async (_, fields) => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const before = await read();
    vllm.observe(decodeEngineCoreOutputs(encode(fields)));
    const moved = (reading: typeof before): unknown =>
      reading.metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => [attributes, value]),
      ]);
    expect(moved(await read())).toEqual(moved(before));
    expect(vllm.status().requestsInFlight).toBe(1);
    expect(dropped()).toEqual({});
  });

  it('with a million outputs costs no healthy request a sample, and leaves no memory behind', async () => {
    const { vllm, engine, traced, dropped, read } = startService();
    const sentinel = new Sentinel(vllm, 0, 'sentinel');
    const last = engine.startRequest({ requestId: 'last' });
    const frame = encode([
      0,
      Array.from({ length: 1_000_000 }, (_, index) => [index % 2 === 0 ? 'nobody' : 'last', [index]]),
      null,
      1,
    ]);
    // In a function, at whose end nothing is held any more.
    const observe = (around: Sentinel['around']): void => {
      const { outputs = [], ...rest } = decodeEngineCoreOutputs(frame);
      vllm.observe({ ...rest, outputs: around(outputs) });
    };
    observe((outputs) => outputs);
    await collectThoroughly();
    const { heapUsed } = process.memoryUsage();
    observe((outputs) => sentinel.around(outputs));
    await collectThoroughly();
    expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(1_000_000);
    sentinel.check(traced.spans);
    expect(last.ended).toBe(false);
    expect((await read()).value('vllm:generation_tokens')).toBe(1_000_003);
    expect(dropped()).toEqual({ unknownRequest: 1_000_000 });
  });
});

describe('outputs of one id', () => {
  const last = { finish_reason: 0 };

  it('that come after the last one are dropped, in the same batch or a later one', async () => {
    const { vllm, engine, read, dropped } = startService();
    for (const requestId of ['a', 'b']) engine.startRequest({ requestId });
    vllm.observe(message(1, output('a', 1, last), output('a', 1, last), output('b', 1)));
    vllm.observe(message(2, output('a', 5, { events: [preempted(2)] }), output('b', 1, last)));
    const reading = await read();
    expect(reading.value('vllm:generation_tokens')).toBe(3);
    expect(reading.value('vllm:num_preemptions')).toBe(0);
    expect(endings(reading)).toEqual({ stop: 2 });
    expect(dropped()).toEqual({ afterEnd: 2 });
  });

  it('that two requests have go to the first until it has ended', async () => {
    const { vllm, engine, read, dropped } = startService();
    const [first, second] = ['a', 'a'].map((requestId) => engine.startRequest({ requestId }));
    vllm.observe(message(1, output('a', 1), output('a', 1, last), output('a', 1)));
    expect([first!.ended, second!.ended]).toEqual([true, false]);
    second!.end('abort');
    const reading = await read();
    expect(endings(reading)).toEqual({ stop: 1, abort: 1 });
    expect(reading.histogram('vllm:request_generation_tokens').sum).toBe(2);
    expect(dropped()).toEqual({ duplicateRequestId: 1, afterEnd: 1 });
  });
});
