import type { Attributes, Meter } from '@opentelemetry/api';
import {
  AggregationTemporality,
  MeterProvider,
  type MeterProviderOptions,
  type MetricReaderOptions,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { BoundMeterProvider, type BoundMeterProviderOptions } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { TestReader } from '../support/test-reader.ts';
import { Collected } from './collected.ts';

/** Two providers of the same options, and what each gives a cumulative reader. */
interface Pair {
  readonly sdk: Meter;
  readonly bound: Meter;
  theirs(): Promise<Collected>;
  ours(): Promise<Collected>;
}

function pair(
  temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE,
  options: BoundMeterProviderOptions & Pick<MeterProviderOptions, 'views'> = {},
): Pair {
  const reader = new TestReader(temporality);
  const sdk = new MeterProvider({ readers: [reader], ...(options.views && { views: options.views }) });
  const bound = new BoundMeterProvider(options);
  const producer = bound.producer({ temporality: () => temporality });
  return {
    sdk: sdk.getMeter('test'),
    bound: bound.getMeter('test'),
    theirs: async () => new Collected(await reader.collect()),
    ours: async () => new Collected(await producer.collect()),
  };
}

/** Does the same with the meters of both. */
function withBoth({ sdk, bound }: Pair, use: (meter: Meter) => void): void {
  use(sdk);
  use(bound);
}

const OVERFLOW = '{"otel.metric.overflow":true}';

describe('where it departs from the SDK', () => {
  it('has room for as many series as the limit says, where the SDK has one less', async () => {
    const view = { instrumentName: 'c', aggregationCardinalityLimit: 3 };
    const both = pair(undefined, { views: [view] });
    withBoth(both, (meter) => {
      const counter = meter.createCounter('c');
      for (const a of ['1', '2', '3', '4']) counter.add(1, { a });
    });
    expect((await both.theirs()).numbers('c')).toEqual({ '{"a":"1"}': 1, '{"a":"2"}': 1, [OVERFLOW]: 2 });
    expect((await both.ours()).numbers('c')).toEqual({
      '{"a":"1"}': 1,
      '{"a":"2"}': 1,
      '{"a":"3"}': 1,
      [OVERFLOW]: 1,
    });
  });

  it('keeps to the limit for good, where the SDK has room for new series after every collection', async () => {
    const view = { instrumentName: 'c', aggregationCardinalityLimit: 3 };
    const both = pair(undefined, { views: [view] });
    const counters = [both.sdk.createCounter('c'), both.bound.createCounter('c')];
    for (let round = 0; round < 5; round += 1) {
      for (const counter of counters) {
        for (const a of [`${round}a`, `${round}b`]) counter.add(1, { a });
      }
      await both.theirs();
      await both.ours();
    }
    expect((await both.theirs()).points('c')).toHaveLength(10);
    expect((await both.ours()).numbers('c')).toEqual({
      '{"a":"0a"}': 1,
      '{"a":"0b"}': 1,
      '{"a":"1a"}': 1,
      [OVERFLOW]: 7,
    });
  });

  it('no longer reports a series that callbacks no longer observe, where the SDK repeats its last value', async () => {
    const both = pair();
    let observed: readonly string[] = ['1', '2'];
    withBoth(both, (meter) => {
      meter.createObservableGauge('g').addCallback((result) => {
        for (const a of observed) result.observe(7, { a });
      });
    });
    await both.theirs();
    await both.ours();
    observed = ['2'];
    expect((await both.theirs()).numbers('g')).toEqual({ '{"a":"1"}': 7, '{"a":"2"}': 7 });
    expect((await both.ours()).numbers('g')).toEqual({ '{"a":"2"}': 7 });
  });

  it('drops what is not finite, where the SDK adds it up', async () => {
    captureDiag();
    const both = pair();
    withBoth(both, (meter) => {
      const histogram = meter.createHistogram('h');
      for (const value of [1, Number.POSITIVE_INFINITY]) histogram.record(value);
      const sum = meter.createUpDownCounter('s');
      for (const value of [1, Number.NaN]) sum.add(value);
      const gauge = meter.createGauge('g');
      for (const value of [1, Number.NEGATIVE_INFINITY]) gauge.record(value);
    });
    const [theirs, ours] = [await both.theirs(), await both.ours()];
    expect(theirs.histogram('h')).toMatchObject({ count: 2, sum: Number.POSITIVE_INFINITY });
    expect(theirs.numbers('s')).toEqual({ '{}': Number.NaN });
    expect(theirs.numbers('g')).toEqual({ '{}': Number.NEGATIVE_INFINITY });
    expect(ours.histogram('h')).toMatchObject({ count: 1, sum: 1, max: 1 });
    expect(ours.numbers('s')).toEqual({ '{}': 1 });
    expect(ours.numbers('g')).toEqual({ '{}': 1 });
  });

  it('makes no series of a NaN, where the SDK makes a histogram of no measurement', async () => {
    captureDiag();
    const both = pair();
    withBoth(both, (meter) => meter.createHistogram('h').record(Number.NaN));
    expect((await both.theirs()).histogram('h')).toMatchObject({ count: 0 });
    expect((await both.ours()).names).toEqual([]);
  });

  it('drops a negative observation of a counter, where the SDK takes it for 0', async () => {
    captureDiag();
    const both = pair();
    withBoth(both, (meter) => {
      meter.createObservableCounter('c').addCallback((result) => result.observe(-1));
    });
    expect((await both.theirs()).numbers('c')).toEqual({ '{}': 0 });
    expect((await both.ours()).names).toEqual([]);
  });

  it('copies attributes, where a later change of the object changes what the SDK has recorded', async () => {
    const both = pair();
    withBoth(both, (meter) => {
      const attributes: Attributes = { a: '1', list: ['x'] };
      meter.createCounter('c').add(1, attributes);
      attributes['a'] = 'changed';
      (attributes['list'] as string[]).push('y');
    });
    expect((await both.theirs()).numbers('c')).toEqual({ '{"a":"changed","list":["x","y"]}': 1 });
    expect((await both.ours()).numbers('c')).toEqual({ '{"a":"1","list":["x"]}': 1 });
  });

  it('takes attributes that the SDK throws at', async () => {
    const both = pair();
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    const add = (meter: Meter, attributes: object): void =>
      meter.createCounter('c').add(1, attributes as Attributes);
    for (const attributes of [{ a: 1n }, { a: cyclic }, null as never]) {
      expect(() => add(both.sdk, attributes)).toThrow(TypeError);
      add(both.bound, attributes);
    }
    expect((await both.ours()).points('c')).toHaveLength(3);
  });

  it('begins all delta points of a metric at the last collection, where the SDK begins a new series at its first measurement', async () => {
    const both = pair(AggregationTemporality.DELTA);
    const counters = [both.sdk.createCounter('c'), both.bound.createCounter('c')];
    for (const counter of counters) counter.add(1, { a: '1' });
    const [theirFirst, ourFirst] = [await both.theirs(), await both.ours()];
    // The SDK's time of a first measurement is in whole milliseconds, and must be a later one.
    const collectedAt = Date.now();
    while (Date.now() === collectedAt);
    for (const counter of counters) for (const a of ['1', '2']) counter.add(1, { a });
    const starts = (collected: Collected) => collected.points('c').map(({ startTime }) => startTime);
    const [theirStarts, ourStarts] = [starts(await both.theirs()), starts(await both.ours())];
    const theirEnd = theirFirst.points('c')[0]!.endTime;
    const ourEnd = ourFirst.points('c')[0]!.endTime;
    expect(theirStarts[0]).toEqual(theirEnd);
    expect(theirStarts[1]).not.toEqual(theirEnd);
    expect(ourStarts).toEqual([ourEnd, ourEnd]);
  });

  it('takes names that differ in case alone for one instrument, where the SDK has several', async () => {
    const lines = captureDiag();
    const both = pair();
    withBoth(both, (meter) => {
      for (const name of ['requestCount', 'RequestCount']) meter.createCounter(name).add(1);
    });
    expect((await both.theirs()).names).toEqual(['requestCount', 'RequestCount']);
    expect((await both.ours()).numbers('requestCount')).toEqual({ '{}': 2 });
    expect(lines).toEqual([
      'opentelemetry-instrumentation-vllm: two instruments are named requestCount, with name "requestCount" and ' +
        '"RequestCount": they share one metric, with the first name and boundaries and the longer description',
    ]);
  });

  it('selects by the name of a View in upper and lower case, where the SDK compares letter by letter', async () => {
    const both = pair(undefined, { views: [{ name: 'renamed', instrumentName: 'Some.Counter' }] });
    withBoth(both, (meter) => meter.createCounter('some.counter').add(1));
    expect((await both.theirs()).names).toEqual(['some.counter']);
    expect((await both.ours()).names).toEqual(['renamed']);
  });

  it('refuses two Views of one instrument, which count everything twice in the SDK', async () => {
    const views = [
      { name: 'v', instrumentName: 'c' },
      { name: 'v', instrumentName: 'c', meterName: 'test' },
    ];
    const reader = new TestReader();
    new MeterProvider({ readers: [reader], views } satisfies MeterProviderOptions & MetricReaderOptions)
      .getMeter('test')
      .createCounter('c')
      .add(1);
    expect(new Collected(await reader.collect()).numbers('v')).toEqual({ '{}': 2 });
    expect(() => new BoundMeterProvider({ views })).toThrow(
      new TypeError('views[1] must be the only view of its instrument; got "c"'),
    );
  });

  it('ignores the buckets of a View for what is no histogram, where the SDK makes one of it', async () => {
    const lines = captureDiag();
    const view = {
      instrumentName: 'c',
      aggregation: { type: 4 as const, options: { boundaries: [1] } },
    };
    const both = pair(undefined, { views: [view] });
    withBoth(both, (meter) => meter.createCounter('c').add(2));
    expect((await both.theirs()).histogram('c')).toMatchObject({ count: 1 });
    expect((await both.ours()).numbers('c')).toEqual({ '{}': 2 });
    expect(lines).toEqual([
      'opentelemetry-instrumentation-vllm: the view of c has buckets, which an instrument of type COUNTER does not ' +
        'take: ignored',
    ]);
  });
});
