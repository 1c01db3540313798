import { ROOT_CONTEXT, type Attributes } from '@opentelemetry/api';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { batching } from './batching.ts';
import { collect } from './collected.ts';

const OVERFLOW = '{"otel.metric.overflow":true}';

function start(cardinalityLimit = 2000) {
  const provider = new BoundMeterProvider({ cardinalityLimit });
  return {
    provider,
    meter: provider.getMeter('test'),
    cumulative: provider.producer(),
    delta: provider.producer({ temporality: 'delta' }),
  };
}

describe('bind, as the metrics API specifies it', () => {
  it('takes any number of attributes, or none', async () => {
    const { meter, cumulative } = start();
    const counter = meter.createCounter('c');
    counter.bind().add(1);
    counter.bind({}).add(2);
    counter.bind({ a: '1' }).add(4);
    counter.bind({ a: '1', b: 2, c: true }).add(8);
    expect((await collect(cumulative)).numbers('c')).toEqual({
      '{}': 3,
      '{"a":"1"}': 4,
      '{"a":"1","b":2,"c":true}': 8,
    });
  });

  it('gives what has the recording method of its instrument, without the attributes', async () => {
    const { meter, cumulative } = start();
    meter.createCounter('counter').bind({ a: '1' }).add(2, ROOT_CONTEXT);
    const upDown = meter.createUpDownCounter('upDown').bind({ a: '1' });
    upDown.add(2, ROOT_CONTEXT);
    upDown.add(-5);
    const gauge = meter.createGauge('gauge').bind({ a: '1' });
    gauge.record(2, ROOT_CONTEXT);
    gauge.record(-1);
    const histogram = meter.createHistogram('histogram').bind({ a: '1' });
    histogram.record(2, ROOT_CONTEXT);
    histogram.record(30);
    const collected = await collect(cumulative);
    expect(collected.numbers('counter')).toEqual({ '{"a":"1"}': 2 });
    expect(collected.numbers('upDown')).toEqual({ '{"a":"1"}': -3 });
    expect(collected.numbers('gauge')).toEqual({ '{"a":"1"}': -1 });
    expect(collected.histogram('histogram', { a: '1' })).toMatchObject({
      count: 2,
      sum: 32,
      min: 2,
      max: 30,
    });
  });
});

describe('recordMany, which the types do not offer', () => {
  it('records what as many calls of record do, to the last bit of the sum', async () => {
    const { meter, cumulative, delta } = start();
    const [many, one] = ['many', 'one'].map((name) => meter.createHistogram(name).bind({ a: '1' }));
    for (const [value, count] of [
      [0.1, 7],
      [0.3, 1],
      [1e16, 1],
      [1, 3],
      [42.5, 1000],
    ] as const) {
      batching(many!).recordMany(value, count, ROOT_CONTEXT);
      for (let made = 0; made < count; made += 1) one!.record(value, ROOT_CONTEXT);
    }
    for (const producer of [cumulative, delta]) {
      const collected = await collect(producer);
      expect(collected.histogram('many', { a: '1' })).toEqual(collected.histogram('one', { a: '1' }));
      expect(collected.histogram('many', { a: '1' }).count).toBe(1012);
      // One after the other, each 1 is lost in the rounding.
      expect(collected.histogram('many', { a: '1' }).sum).not.toBe(0.7 + 0.3 + 1e16 + 3 + 42_500);
    }
  });

  it('sets a gauge', async () => {
    const { meter, cumulative } = start();
    batching(meter.createGauge('g').bind()).recordMany(-2.5, 3);
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{}': -2.5 });
  });

  it('records nothing once unbound', async () => {
    const { meter, cumulative } = start();
    const bound = batching(meter.createHistogram('h').bind());
    bound.recordMany(2, 2);
    bound.unbind();
    bound.recordMany(2, 2);
    batching(meter.createHistogram('h').bind()).recordMany(8, 1);
    expect((await collect(cumulative)).histogram('h', {})).toMatchObject({ count: 1, sum: 8 });
  });

  it('counts each of the measurements that are dropped', () => {
    const lines = captureDiag();
    const { provider, meter } = start();
    const bound = batching(meter.createHistogram('h').bind());
    bound.recordMany(-1, 3);
    bound.recordMany(Number.NaN, 2);
    bound.recordMany('1' as unknown as number, 4);
    expect(provider.dropped).toEqual({ negative: 3, notFinite: 2, notNumber: 4 });
    expect(lines).toHaveLength(3);
  });
});

describe('bind, as the metrics SDK specifies it', () => {
  it('records what unbound calls with its attributes record, mixed with them in any way', async () => {
    captureDiag();
    const kinds = ['createCounter', 'createUpDownCounter', 'createGauge', 'createHistogram'] as const;
    const measurement = fc.record({
      attributes: fc.constantFrom<Attributes>({}, { a: 1 }, { a: '1', b: '2' }),
      value: fc.double(),
      bound: fc.boolean(),
    });
    const property = fc.asyncProperty(fc.array(measurement), async (measurements) => {
      const [mixed, unbound] = [start(), start()];
      for (const kind of kinds) {
        const [one, other] = [mixed.meter[kind](kind), unbound.meter[kind](kind)];
        for (const { attributes, value, bound } of measurements) {
          // What is dropped makes no series, and binding does.
          if (bound && mixed.provider.dropped.notFinite === 0 && Number.isFinite(value) && value >= 0) {
            if ('add' in one) one.bind(attributes).add(value);
            else one.bind(attributes).record(value);
          } else if ('add' in one) one.add(value, attributes);
          else one.record(value, attributes);
          if ('add' in other) other.add(value, attributes);
          else other.record(value, attributes);
        }
      }
      for (const temporality of ['cumulative', 'delta'] as const) {
        const [ours, theirs] = [await collect(mixed[temporality]), await collect(unbound[temporality])];
        const values = (collected: typeof ours) =>
          collected.metrics.map(({ descriptor, dataPoints }) => [
            descriptor,
            dataPoints.map(({ attributes, value }) => [attributes, value]),
          ]);
        expect(values(ours)).toEqual(values(theirs));
      }
      expect(mixed.provider.dropped).toEqual(unbound.provider.dropped);
    });
    await fc.assert(property);
  });

  it('decides at the limit when it binds, each time on its own', async () => {
    captureDiag();
    const { meter, cumulative } = start(1);
    const counter = meter.createCounter('c');
    const fits = counter.bind({ a: '1' });
    const overflows = counter.bind({ a: '2' });
    fits.unbind();
    const fitsNow = counter.bind({ a: '2' });
    overflows.add(1);
    fitsNow.add(2);
    counter.add(4, { a: '2' });
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"2"}': 6, [OVERFLOW]: 1 });
  });

  it('stays with its series whatever comes later, through every collection', async () => {
    captureDiag();
    const { meter, cumulative, delta } = start(1);
    const counter = meter.createCounter('c');
    const first = counter.bind({ a: '1' });
    for (let round = 1; round <= 3; round += 1) {
      counter.add(10, { a: 'beyond' });
      first.add(1);
      expect((await collect(delta)).numbers('c')).toEqual({ '{"a":"1"}': 1, [OVERFLOW]: 10 });
      expect((await collect(cumulative)).numbers('c')).toEqual({
        '{"a":"1"}': round,
        [OVERFLOW]: 10 * round,
      });
    }
  });

  it('takes the attributes as they are when it binds', async () => {
    const { meter, cumulative } = start();
    const attributes: Attributes = { a: '1' };
    const bound = meter.createCounter('c').bind(attributes);
    attributes['a'] = '2';
    bound.add(1);
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"1"}': 1 });
  });

  it('looks at no attribute when it records', async () => {
    const { meter } = start();
    let looks = 0;
    const attributes = {
      get a(): string {
        looks += 1;
        return '1';
      },
    };
    const bound = meter.createHistogram('h').bind(attributes);
    const looksToBind = looks;
    for (let value = 0; value < 100; value += 1) bound.record(value);
    expect(looks).toBe(looksToBind);
  });
});

describe('a bound series', () => {
  it('exists at zero from the moment it is bound, for a cumulative producer at every collection', async () => {
    const { meter, cumulative } = start();
    for (const kind of ['createCounter', 'createUpDownCounter', 'createGauge'] as const)
      meter[kind](kind).bind();
    meter.createHistogram('h', { advice: { explicitBucketBoundaries: [1] } }).bind();
    for (let round = 0; round < 2; round += 1) {
      const collected = await collect(cumulative);
      expect(collected.numbers('createCounter')).toEqual({ '{}': 0 });
      expect(collected.numbers('createUpDownCounter')).toEqual({ '{}': 0 });
      expect(collected.numbers('createGauge')).toEqual({ '{}': 0 });
      expect(collected.histogram('h')).toEqual({
        buckets: { boundaries: [1], counts: [0, 0] },
        count: 0,
        sum: 0,
      });
    }
  });

  it('is at zero once for a delta producer, at its first collection after the binding', async () => {
    const { meter, delta } = start();
    const counter = meter.createCounter('c');
    const bound = counter.bind({ a: '1' });
    expect((await collect(delta)).numbers('c')).toEqual({ '{"a":"1"}': 0 });
    expect((await collect(delta)).names).toEqual([]);
    bound.add(2);
    counter.bind({ a: '2' });
    expect((await collect(delta)).numbers('c')).toEqual({ '{"a":"1"}': 2, '{"a":"2"}': 0 });
    bound.add(0);
    expect((await collect(delta)).numbers('c')).toEqual({ '{"a":"1"}': 0 });
  });

  it('begins when it is bound', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1000 });
    try {
      const { meter, cumulative } = start();
      const counter = meter.createCounter('c');
      vi.setSystemTime(2250);
      const bound = counter.bind();
      vi.setSystemTime(5000);
      bound.add(1);
      vi.setSystemTime(7000);
      const [point] = (await collect(cumulative)).points('c');
      expect(point).toMatchObject({ startTime: [2, 250_000_000], endTime: [7, 0] });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('unbind', () => {
  it('drops the series: it is gone from the next collection of every producer, unreported deltas included', async () => {
    const { meter, cumulative, delta } = start();
    const counter = meter.createCounter('c');
    const bound = counter.bind({ a: '1' });
    const other = counter.bind({ a: '2' });
    bound.add(1);
    other.add(2);
    await collect(delta);
    bound.add(4);
    other.add(8);
    bound.unbind();
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"2"}': 10 });
    expect((await collect(delta)).numbers('c')).toEqual({ '{"a":"2"}': 8 });
  });

  it('lets a later binding of the same attributes start anew from zero, with a new start time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1000 });
    try {
      const { meter, cumulative, delta } = start();
      const histogram = meter.createHistogram('h');
      const bound = histogram.bind({ a: '1' });
      bound.record(1);
      await collect(cumulative);
      await collect(delta);
      bound.unbind();
      vi.setSystemTime(4000);
      const again = histogram.bind({ a: '1' });
      vi.setSystemTime(5000);
      const zero = (await collect(cumulative)).points('h');
      expect(zero).toMatchObject([{ startTime: [4, 0], endTime: [5, 0], value: { count: 0, sum: 0 } }]);
      again.record(7);
      expect((await collect(cumulative)).histogram('h', { a: '1' })).toMatchObject({
        count: 1,
        min: 7,
        max: 7,
      });
      expect((await collect(delta)).histogram('h', { a: '1' })).toMatchObject({ count: 1, sum: 7 });
    } finally {
      vi.useRealTimers();
    }
  });

  it('makes the binding record nowhere, and does nothing more when called again', async () => {
    const { meter, cumulative } = start();
    const counter = meter.createCounter('c');
    const bound = counter.bind({ a: '1' });
    bound.unbind();
    bound.add(1);
    expect((await collect(cumulative)).names).toEqual([]);
    counter.bind({ a: '1' }).add(2);
    bound.unbind();
    bound.add(4);
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"1"}': 2 });
  });

  it('lets other bindings and unbound calls of the same attributes start anew when they record', async () => {
    const { meter, cumulative } = start();
    const counter = meter.createCounter('c');
    const [one, other] = [counter.bind({ a: '1' }), counter.bind({ a: '1' })];
    counter.bind({ a: '2' }).unbind();
    one.add(1);
    one.unbind();
    expect((await collect(cumulative)).names).toEqual([]);
    other.add(2);
    counter.add(4, { a: '1' });
    counter.add(8, { a: '2' });
    other.add(16);
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"1"}': 22, '{"a":"2"}': 8 });
    other.unbind();
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"2"}': 8 });
  });

  it('drops what unbound calls recorded', async () => {
    const { meter, cumulative } = start();
    const counter = meter.createCounter('c');
    counter.add(1, { a: '1' });
    counter.bind({ a: '1' }).unbind();
    expect((await collect(cumulative)).names).toEqual([]);
  });

  it('leaves the overflow series, as others record into it', async () => {
    captureDiag();
    const { meter, cumulative } = start(1);
    const counter = meter.createCounter('c');
    counter.bind({ a: '1' });
    const beyond = counter.bind({ a: '2' });
    counter.add(1, { a: '3' });
    beyond.add(2);
    beyond.unbind();
    beyond.add(4);
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":"1"}': 0, [OVERFLOW]: 3 });
  });
});
