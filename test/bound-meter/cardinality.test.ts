import { describe, expect, it } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { collect } from './collected.ts';

const OVERFLOW = '{"otel.metric.overflow":true}';

describe('the cardinality limit', () => {
  it('is 2000 series of each metric beside the overflow, and is warned of once per metric', async () => {
    const lines = captureDiag();
    const provider = new BoundMeterProvider();
    const counter = provider.getMeter('test').createCounter('c');
    for (let a = 0; a < 2000; a += 1) counter.add(1, { a });
    expect(lines).toEqual([]);
    for (let a = 2000; a < 2010; a += 1) counter.add(1, { a });
    const numbers = (await collect(provider.producer())).numbers('c');
    expect(Object.keys(numbers)).toHaveLength(2001);
    expect(numbers[OVERFLOW]).toBe(10);
    expect(lines).toEqual([
      'opentelemetry-instrumentation-vllm: metric c has 2000 series, its limit: others share otel.metric.overflow',
    ]);
  });

  it("is a View's for its metric, else the provider's, and counts each metric for itself", async () => {
    captureDiag();
    const views = [{ instrumentName: 'viewed', aggregationCardinalityLimit: 3 }];
    const provider = new BoundMeterProvider({ views, cardinalityLimit: 1 });
    for (const name of ['viewed', 'other']) {
      const counter = provider.getMeter('test').createCounter(name);
      for (let a = 0; a < 5; a += 1) counter.add(1, { a });
    }
    const collected = await collect(provider.producer());
    expect(collected.numbers('viewed')).toEqual({ '{"a":0}': 1, '{"a":1}': 1, '{"a":2}': 1, [OVERFLOW]: 2 });
    expect(collected.numbers('other')).toEqual({ '{"a":0}': 1, [OVERFLOW]: 4 });
  });

  it('loses and doubles nothing: what was there before the overflow goes on, the rest is in it', async () => {
    captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 2 });
    const histogram = provider.getMeter('test').createHistogram('h');
    const delta = provider.producer({ temporality: 'delta' });
    for (let round = 0; round < 3; round += 1) {
      for (let a = 0; a < 4; a += 1) histogram.record(1, { a });
      const collected = await collect(delta);
      const counts = collected
        .points('h')
        .map(({ attributes, value }) => [JSON.stringify(attributes), (value as { count: number }).count]);
      expect(Object.fromEntries(counts)).toEqual({ '{"a":0}': 1, '{"a":1}': 1, [OVERFLOW]: 2 });
    }
  });

  it('takes measurements that carry the overflow attribute themselves into the overflow', async () => {
    captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 1 });
    const counter = provider.getMeter('test').createCounter('c');
    counter.add(1, { 'otel.metric.overflow': true });
    counter.add(2, { a: '1' });
    counter.add(4, { a: '2' });
    expect((await collect(provider.producer())).numbers('c')).toEqual({ '{"a":"1"}': 2, [OVERFLOW]: 5 });
  });

  it('prefers what observable callbacks observe first; the rest of a sum is added up, of a gauge the last stands', async () => {
    captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 1 });
    const meter = provider.getMeter('test');
    const [cumulative, delta] = [provider.producer(), provider.producer({ temporality: 'delta' })];
    let base = 0;
    for (const kind of [
      'createObservableCounter',
      'createObservableUpDownCounter',
      'createObservableGauge',
    ] as const) {
      meter[kind](kind).addCallback((result) => {
        for (const a of [1, 2, 3]) result.observe(base + a, { a });
      });
    }
    for (let round = 0; round < 3; round += 1) {
      base = 10 * round;
      const [whole, part] = [await collect(cumulative), await collect(delta)];
      for (const kind of ['createObservableCounter', 'createObservableUpDownCounter']) {
        expect(whole.numbers(kind)).toEqual({ '{"a":1}': base + 1, [OVERFLOW]: 2 * base + 5 });
      }
      expect(part.numbers('createObservableCounter')).toEqual(
        round === 0 ? { '{"a":1}': 1, [OVERFLOW]: 5 } : { '{"a":1}': 10, [OVERFLOW]: 20 },
      );
      for (const collected of [whole, part]) {
        expect(collected.numbers('createObservableGauge')).toEqual({
          '{"a":1}': base + 1,
          [OVERFLOW]: base + 3,
        });
      }
    }
  });

  it('lets a new series take the place of one that is observed no longer', async () => {
    captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 1 });
    const producer = provider.producer();
    let a = 1;
    provider
      .getMeter('test')
      .createObservableGauge('g')
      .addCallback((result) => result.observe(a, { a }));
    expect((await collect(producer)).numbers('g')).toEqual({ '{"a":1}': 1 });
    a = 2;
    // The place is free once a collection has gone without it.
    expect((await collect(producer)).numbers('g')).toEqual({ [OVERFLOW]: 2 });
    expect((await collect(producer)).numbers('g')).toEqual({ '{"a":2}': 2 });
    expect((await collect(producer)).numbers('g')).toEqual({ '{"a":2}': 2 });
  });

  it('has an overflow that is over begin anew when there is one again', async () => {
    const lines = captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 1 });
    const producer = provider.producer();
    let observed: readonly number[] = [1, 2];
    provider
      .getMeter('test')
      .createObservableGauge('g')
      .addCallback((result) => {
        for (const a of observed) result.observe(a, { a });
      });
    const read = async (...next: readonly number[]) => {
      observed = next;
      return (await collect(producer)).numbers('g');
    };
    expect(await read(1, 2)).toEqual({ '{"a":1}': 1, [OVERFLOW]: 2 });
    expect(await read(1)).toEqual({ '{"a":1}': 1 });
    expect(await read(1, 3)).toEqual({ '{"a":1}': 1, [OVERFLOW]: 3 });
    expect(lines).toHaveLength(1);
  });
});
