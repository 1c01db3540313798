import {
  AggregationTemporality,
  AggregationType,
  InstrumentType,
  PeriodicExportingMetricReader,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it, vi } from 'vitest';
import { BoundMeterProvider, type BoundView } from '../../src/bound-meter/index.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { collect } from './collected.ts';

describe('the options of a provider', () => {
  it.each([
    [{ cardinalityLimit: 0 }, 'cardinalityLimit must be a whole number of at least 1; got 0'],
    [{ cardinalityLimit: 1.5 }, 'cardinalityLimit must be a whole number of at least 1; got 1.5'],
    [
      { callbackTimeoutMillis: 0 },
      'callbackTimeoutMillis must be a number of milliseconds above 0 and up to 2147483647; got 0',
    ],
    [
      { callbackTimeoutMillis: '5' as never },
      'callbackTimeoutMillis must be a number of milliseconds above 0 and up to 2147483647; got "5"',
    ],
    [{ views: {} as never }, 'views must be a list of views; got [object Object]'],
  ])('refuse %j at construction', (options, message) => {
    expect(() => new BoundMeterProvider(options)).toThrow(new TypeError(message));
  });
});

describe('the Views of a provider', () => {
  const supported = 'name, instrumentName, meterName, aggregationCardinalityLimit, aggregation';

  it.each<[unknown, string]>([
    [null, 'views[0] must be an object; got null'],
    [{}, "views[0].instrumentName must be an instrument's name without '*'; got undefined"],
    [
      { instrumentName: 'a.*' },
      "views[0].instrumentName must be an instrument's name without '*'; got \"a.*\"",
    ],
    [{ instrumentName: 'a', name: '' }, 'views[0].name must be a non-empty string; got ""'],
    [{ instrumentName: 'a', meterName: 7 }, 'views[0].meterName must be a non-empty string; got 7'],
    [
      { instrumentName: 'a', aggregationCardinalityLimit: 0 },
      'views[0].aggregationCardinalityLimit must be a whole number of at least 1; got 0',
    ],
    [
      { instrumentName: 'a', description: 'd' },
      `views[0].description must be left out, as only ${supported} are supported; got "d"`,
    ],
    [
      { instrumentName: 'a', attributesProcessors: [] },
      `views[0].attributesProcessors must be left out, as only ${supported} are supported; got `,
    ],
    [
      { instrumentName: 'a', instrumentType: InstrumentType.COUNTER },
      `views[0].instrumentType must be left out, as only ${supported} are supported; got "COUNTER"`,
    ],
    [
      { instrumentName: 'a', aggregation: { type: AggregationType.DROP } },
      'views[0].aggregation.type must be 4, AggregationType.EXPLICIT_BUCKET_HISTOGRAM; got 1',
    ],
    [
      { instrumentName: 'a', aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM } },
      'views[0].aggregation.options must be an object; got undefined',
    ],
    [{ instrumentName: 'a', aggregation: 4 }, 'views[0].aggregation must be an object; got 4'],
    [
      { instrumentName: 'a', aggregation: { type: 4, options: { boundaries: [1], recordMinMax: false } } },
      'views[0].aggregation.options.recordMinMax must be left out, as only boundaries are supported; got false',
    ],
    [
      { instrumentName: 'a', aggregation: { type: 4, options: { boundaries: [Number.NaN] } } },
      'views[0].aggregation.options.boundaries must be a list of numbers; got NaN',
    ],
  ])('refuse %j at construction', (view, message) => {
    expect(() => new BoundMeterProvider({ views: [view as BoundView] })).toThrow(new TypeError(message));
  });

  it('refuse a second one of an instrument, whatever the case of its name, unless the meters are others', () => {
    const view = (instrumentName: string, meterName?: string): BoundView => ({ instrumentName, meterName });
    const of = (...views: BoundView[]) => new BoundMeterProvider({ views });
    expect(() => of(view('a'), view('b'), view('A'))).toThrow(
      new TypeError('views[2] must be the only view of its instrument; got "A"'),
    );
    expect(() => of(view('a', 'm'), view('a'))).toThrow(TypeError);
    expect(() => of(view('a', 'm'), view('a', 'n'))).not.toThrow();
  });

  it('take all that vllmViews gives, and what is set to undefined', () => {
    const views: readonly ViewOptions[] = vllmViews({ maxModelLen: 4096 });
    expect(() => new BoundMeterProvider({ views: views as readonly BoundView[] })).not.toThrow();
    expect(() => new BoundMeterProvider({ views: vllmViews() })).not.toThrow();
    const view = { instrumentName: 'a', description: undefined, aggregation: undefined };
    expect(() => new BoundMeterProvider({ views: [view] })).not.toThrow();
  });

  it('apply to the instruments of their meter alone', async () => {
    const views = [
      { instrumentName: 'c', meterName: 'one', name: 'of one' },
      { instrumentName: 'c', meterName: 'two', name: 'of two' },
    ];
    const provider = new BoundMeterProvider({ views });
    for (const name of ['one', 'two', 'three']) provider.getMeter(name).createCounter('c').add(1);
    expect((await collect(provider.producer())).names).toEqual(['of one', 'of two', 'c']);
  });
});

describe('the temporality of a producer', () => {
  const kinds = Object.values(InstrumentType);

  async function temporalities(
    temporality?: Parameters<BoundMeterProvider['producer']>[0],
  ): Promise<Record<string, AggregationTemporality>> {
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    meter.createCounter('COUNTER').add(1);
    meter.createUpDownCounter('UP_DOWN_COUNTER').add(1);
    meter.createGauge('GAUGE').record(1);
    meter.createHistogram('HISTOGRAM').record(1);
    meter.createObservableCounter('OBSERVABLE_COUNTER').addCallback((result) => result.observe(1));
    meter
      .createObservableUpDownCounter('OBSERVABLE_UP_DOWN_COUNTER')
      .addCallback((result) => result.observe(1));
    meter.createObservableGauge('OBSERVABLE_GAUGE').addCallback((result) => result.observe(1));
    const { metrics } = await collect(provider.producer(temporality));
    expect(metrics).toHaveLength(kinds.length);
    return Object.fromEntries(
      metrics.map(({ descriptor, aggregationTemporality }) => [descriptor.name, aggregationTemporality]),
    );
  }

  it('is cumulative for every type by default', async () => {
    const all = Object.fromEntries(kinds.map((kind) => [kind, AggregationTemporality.CUMULATIVE]));
    expect(await temporalities()).toEqual(all);
    expect(await temporalities({ temporality: 'cumulative' })).toEqual(all);
  });

  it('is delta for all but up-down counters where that is preferred', async () => {
    expect(await temporalities({ temporality: 'delta' })).toEqual({
      COUNTER: AggregationTemporality.DELTA,
      UP_DOWN_COUNTER: AggregationTemporality.CUMULATIVE,
      GAUGE: AggregationTemporality.DELTA,
      HISTOGRAM: AggregationTemporality.DELTA,
      OBSERVABLE_COUNTER: AggregationTemporality.DELTA,
      OBSERVABLE_UP_DOWN_COUNTER: AggregationTemporality.CUMULATIVE,
      OBSERVABLE_GAUGE: AggregationTemporality.DELTA,
    });
  });

  it('is what a selector says, which is asked once for each type', async () => {
    const asked: InstrumentType[] = [];
    const selector = (kind: InstrumentType): AggregationTemporality => {
      asked.push(kind);
      return kind === InstrumentType.HISTOGRAM
        ? AggregationTemporality.DELTA
        : AggregationTemporality.CUMULATIVE;
    };
    const all = await temporalities({ temporality: selector });
    expect(all['HISTOGRAM']).toBe(AggregationTemporality.DELTA);
    expect(all['COUNTER']).toBe(AggregationTemporality.CUMULATIVE);
    expect(asked.sort()).toEqual([...kinds].sort());
  });

  it('is refused where it is none', () => {
    const provider = new BoundMeterProvider();
    expect(() => provider.producer({ temporality: 'deltas' as never })).toThrow(
      new TypeError("temporality must be 'cumulative', 'delta' or a selector; got \"deltas\""),
    );
    expect(() => provider.producer({ temporality: () => 2 as never })).toThrow(
      new TypeError('temporality of COUNTER must be an AggregationTemporality; got 2'),
    );
  });
});

describe('the producers of a provider', () => {
  it('each report what they have not reported yet, the first time all since the start', async () => {
    const provider = new BoundMeterProvider();
    const counter = provider.getMeter('test').createCounter('c');
    const histogram = provider.getMeter('test').createHistogram('h', {
      advice: { explicitBucketBoundaries: [10] },
    });
    const [one, two] = [
      provider.producer({ temporality: 'delta' }),
      provider.producer({ temporality: 'delta' }),
    ];
    const record = (value: number): void => {
      counter.add(value);
      histogram.record(value);
    };
    record(20);
    record(1);
    expect((await collect(one)).histogram('h')).toMatchObject({ count: 2, sum: 21, min: 1, max: 20 });
    record(5);
    expect((await collect(one)).histogram('h')).toMatchObject({ count: 1, sum: 5, min: 5, max: 5 });
    record(7);
    const first = await collect(two);
    expect(first.numbers('c')).toEqual({ '{}': 33 });
    expect(first.histogram('h')).toMatchObject({ count: 4, sum: 33, min: 1, max: 20 });
    record(3);
    record(4);
    const second = await collect(two);
    expect(second.numbers('c')).toEqual({ '{}': 7 });
    expect(second.histogram('h')).toEqual({
      buckets: { boundaries: [10], counts: [2, 0] },
      count: 2,
      sum: 7,
      min: 3,
      max: 4,
    });
    expect((await collect(one)).histogram('h')).toMatchObject({ count: 3, sum: 14, min: 3, max: 7 });
    expect((await collect(provider.producer())).histogram('h')).toMatchObject({ count: 6, min: 1, max: 20 });
    const late = provider.producer({ temporality: 'delta' });
    expect((await collect(late)).numbers('c')).toEqual({ '{}': 40 });
    expect((await collect(late)).names).toEqual([]);
  });

  it('give cumulative points the start of their series, and delta points the end of the last collection', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1000 });
    try {
      const provider = new BoundMeterProvider();
      const counter = provider.getMeter('test').createCounter('c');
      const [cumulative, delta] = [provider.producer(), provider.producer({ temporality: 'delta' })];
      vi.setSystemTime(2000);
      counter.add(1);
      const times = async (producer: typeof delta) => (await collect(producer)).points('c')[0];
      vi.setSystemTime(3000);
      expect(await times(delta)).toMatchObject({ startTime: [1, 0], endTime: [3, 0] });
      expect(await times(cumulative)).toMatchObject({ startTime: [2, 0], endTime: [3, 0] });
      counter.add(1);
      vi.setSystemTime(4500);
      expect(await times(delta)).toMatchObject({ startTime: [3, 0], endTime: [4, 500_000_000] });
      expect(await times(cumulative)).toMatchObject({ startTime: [2, 0], endTime: [4, 500_000_000] });
    } finally {
      vi.useRealTimers();
    }
  });

  it('give the same descriptor, attributes and boundaries object at every collection', async () => {
    const provider = new BoundMeterProvider();
    const histogram = provider.getMeter('test').createHistogram('h');
    const producer = provider.producer();
    const parts = async () => {
      histogram.record(1, { a: '1' });
      const collected = await collect(producer);
      const { descriptor, dataPoints } = collected.metric('h');
      return [descriptor, dataPoints[0]!.attributes, collected.histogram('h', { a: '1' }).buckets.boundaries];
    };
    const [first, second] = [await parts(), await parts()];
    for (const [index, part] of first.entries()) expect(second[index]).toBe(part);
  });

  it('can be the one source of a reader, whose resource is then empty', async () => {
    const provider = new BoundMeterProvider();
    provider.getMeter('test').createCounter('c').add(1);
    const reader = new PeriodicExportingMetricReader({ exporter: { shutdown: () => {} } as never });
    reader.setMetricProducer(provider.producer());
    const { resourceMetrics } = await reader.collect();
    expect(resourceMetrics.scopeMetrics).toHaveLength(1);
    const { resource } = resourceMetrics;
    expect(resource.attributes).toEqual({});
    expect(resource.getRawAttributes()).toEqual([]);
    expect(resource.merge(null)).toBe(resource);
  });
});
