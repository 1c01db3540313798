import { ValueType, type Attributes, type Meter, type Observable } from '@opentelemetry/api';
import {
  AggregationTemporality,
  MeterProvider,
  type CollectionResult,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundMeterProvider, type BoundView } from '../../src/bound-meter/index.ts';
import { TestReader } from '../support/test-reader.ts';

const SYNC = ['createCounter', 'createUpDownCounter', 'createGauge', 'createHistogram'] as const;
const OBSERVABLE = [
  'createObservableCounter',
  'createObservableUpDownCounter',
  'createObservableGauge',
] as const;
const VALUE_TYPES = [ValueType.INT, ValueType.DOUBLE];

/** Every synchronous instrument, in whole numbers and in others, the histogram also with buckets of its own. */
const INSTRUMENTS = VALUE_TYPES.flatMap((valueType) => [
  ...SYNC.map((create) => ({ name: `${create}.${valueType}`, create, options: { valueType } })),
  {
    name: `advised.${valueType}`,
    create: 'createHistogram' as const,
    options: { valueType, advice: { explicitBucketBoundaries: [50, -10, 0, Number.POSITIVE_INFINITY, 7.5] } },
  },
]);

const OBSERVABLES = VALUE_TYPES.flatMap((valueType) =>
  OBSERVABLE.map((create) => ({
    name: `${create}.${valueType}`,
    create,
    options: { valueType, description: 'what it is', unit: 's' },
  })),
);

/** Sets of attributes that differ in type alone, and one in two orders. */
const ATTRIBUTES: readonly (Attributes | undefined)[] = [
  undefined,
  {},
  { a: '1' },
  { a: 1 },
  { a: true },
  { a: ['1'] },
  { a: '1', b: 'x' },
  { b: 'x', a: '1' },
  { 'a,b': '1,x' },
];

/** The first of those that are equal. */
const firstEqual = (index: number): number =>
  ATTRIBUTES.findIndex((candidate) => canonical(candidate) === canonical(ATTRIBUTES[index]));

const canonical = (attributes: Attributes = {}): string =>
  JSON.stringify(attributes, Object.keys(attributes).toSorted());

const VIEWS: readonly (BoundView & { readonly meterName: string })[] = [
  {
    name: 'renamed:histogram',
    instrumentName: 'advised.1',
    meterName: 'oracle',
    aggregationCardinalityLimit: 1000,
    aggregation: { type: 4, options: { boundaries: [100, 1, 10] } },
  },
  { name: 'renamed_counter', instrumentName: 'createCounter.0', meterName: 'oracle' },
  { name: 'renamed_gauge', instrumentName: 'createObservableGauge.1', meterName: 'oracle' },
  { name: 'of another meter', instrumentName: 'createCounter.1', meterName: 'another' },
];

type Step =
  | {
      readonly kind: 'record';
      readonly instrument: number;
      readonly attributes: number;
      readonly value: number;
    }
  | { readonly kind: 'observe'; readonly attributes: number; readonly value: number }
  | { readonly kind: 'collect'; readonly reader: number };

/** Eighths: every sum of them is exact, however it is put together. */
const value = fc.integer({ min: -800, max: 80_000 }).map((eighths) => eighths / 8);
const attributes = fc.nat(ATTRIBUTES.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('record' as const),
      instrument: fc.nat(INSTRUMENTS.length - 1),
      attributes,
      value,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('observe' as const), attributes, value }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('collect' as const), reader: fc.nat(1) }) },
);

/** What callbacks observe, by attributes. */
type Observed = Map<number, number>;

/** The instruments of one provider, as an application uses them. */
function instrument(meter: Meter, observed: Observed): (recorded: Step & { kind: 'record' }) => void {
  const instruments = INSTRUMENTS.map(({ name, create, options }) => meter[create](name, options));
  const observables = OBSERVABLES.map(({ name, create, options }) => meter[create](name, options));
  const observe = (observable: Observable, take: (value: number, attributes?: Attributes) => void): void => {
    // A negative observation of a counter is a departure, tested for itself.
    const onlyPositive = observables.indexOf(observable) % OBSERVABLE.length === 0;
    for (const [index, number] of observed) take(onlyPositive ? Math.abs(number) : number, ATTRIBUTES[index]);
  };
  observables[0]!.addCallback((result) => observe(observables[0]!, (...one) => result.observe(...one)));
  observables[1]!.addCallback(async (result) => {
    await Promise.resolve();
    observe(observables[1]!, (...one) => result.observe(...one));
  });
  meter.addBatchObservableCallback((result) => {
    for (const observable of observables.slice(2)) {
      observe(observable, (...one) => result.observe(observable, ...one));
    }
  }, observables.slice(2));
  return (recorded) => {
    const one = instruments[recorded.instrument]!;
    if ('add' in one) one.add(recorded.value, ATTRIBUTES[recorded.attributes]);
    else one.record(recorded.value, ATTRIBUTES[recorded.attributes]);
  };
}

/** All that a collection says but for the times, in one order. */
function facts({ resourceMetrics, errors }: CollectionResult): unknown {
  const scopes = resourceMetrics.scopeMetrics.map(({ scope, metrics }) => ({
    scope,
    metrics: metrics
      .map(({ descriptor, dataPoints, ...metric }) => ({
        ...metric,
        descriptor: {
          name: descriptor.name,
          description: descriptor.description,
          unit: descriptor.unit,
          valueType: descriptor.valueType,
        },
        name: descriptor.name,
        dataPoints: dataPoints
          .map((point) => ({
            attributes: point.attributes,
            // Of a point that is a number, the SDK has 0 where it adds -0 up.
            value: typeof point.value === 'number' ? point.value + 0 : point.value,
          }))
          .sort((left, right) => compare(left.attributes, right.attributes)),
      }))
      .sort((left, right) => (left.name < right.name ? -1 : 1)),
  }));
  return { scopes, errors };
}

const keyOf = (one: Attributes): string =>
  JSON.stringify(
    Object.keys(one)
      .sort()
      .map((key) => [key, one[key]]),
  );
const compare = (left: Attributes, right: Attributes): number => (keyOf(left) < keyOf(right) ? -1 : 1);

/** Takes the same steps with both providers; every collection must say the same. */
async function expectSameFacts(
  steps: readonly Step[],
  views: readonly BoundView[],
  temporalities: readonly AggregationTemporality[],
): Promise<void> {
  const readers = temporalities.map((temporality) => new TestReader(temporality));
  const sdk = new MeterProvider({ readers, views: views as never });
  const bound = new BoundMeterProvider({ views });
  const producers: MetricProducer[] = temporalities.map((temporality) =>
    bound.producer({ temporality: () => temporality }),
  );
  const observed: Observed = new Map();
  const record = [sdk, bound].map((provider) => instrument(provider.getMeter('oracle', '1.0'), observed));
  const ends = temporalities.map((_, reader): Step => ({ kind: 'collect', reader }));
  for (const one of [...steps, ...ends, ...ends]) {
    if (one.kind === 'record') for (const take of record) take(one);
    // Several readers must not see a counter fall: the SDK lets each of them know what the others' callbacks saw.
    else if (one.kind === 'observe') {
      const key = temporalities.length > 1 ? firstEqual(one.attributes) : one.attributes;
      const before = Math.abs(observed.get(key) ?? 0);
      observed.set(key, temporalities.length > 1 ? before + Math.abs(one.value) : one.value);
    } else {
      const reader = one.reader % temporalities.length;
      const [theirs, ours] = [await readers[reader]!.collect(), await producers[reader]!.collect()];
      expect(facts(ours)).toEqual(facts(theirs));
    }
  }
}

const { CUMULATIVE, DELTA } = AggregationTemporality;

describe.each([
  { views: 'no views', list: [] },
  { views: 'views', list: VIEWS },
])('with $views', ({ list }) => {
  it.each([
    { readers: 'a cumulative reader', temporalities: [CUMULATIVE] },
    { readers: 'a delta reader', temporalities: [DELTA] },
    { readers: 'a cumulative and a delta reader', temporalities: [CUMULATIVE, DELTA] },
    { readers: 'two delta readers', temporalities: [DELTA, DELTA] },
  ])('$readers collects what it collects of the SDK', async ({ temporalities }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), (steps) =>
        expectSameFacts(steps, list, temporalities),
      ),
      { numRuns: 150 },
    );
  });
});
