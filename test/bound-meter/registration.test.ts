import { ValueType } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { collect } from './collected.ts';

const PREFIX = 'opentelemetry-instrumentation-vllm: ';

function start(options?: ConstructorParameters<typeof BoundMeterProvider>[0]) {
  const provider = new BoundMeterProvider(options);
  return { provider, meter: provider.getMeter('test'), producer: provider.producer() };
}

describe('an instrument that is made again', () => {
  it('shares the metric of the first where name, type, unit and value type are the same, without a warning', async () => {
    const lines = captureDiag();
    const { meter, producer } = start();
    const options = { unit: 's', description: 'what it is', advice: { explicitBucketBoundaries: [1, 2] } };
    for (const value of [1, 2]) meter.createHistogram('h', options).record(value);
    const observed = [1, 2].map((a) => {
      const gauge = meter.createObservableGauge('g');
      gauge.addCallback((result) => result.observe(a, { a }));
      return gauge;
    });
    const collected = await collect(producer);
    expect(collected.names).toEqual(['h', 'g']);
    expect(collected.histogram('h')).toMatchObject({ count: 2, sum: 3 });
    expect(collected.numbers('g')).toEqual({ '{"a":1}': 1, '{"a":2}': 2 });
    expect(observed[0]).not.toBe(observed[1]);
    expect(lines).toEqual([]);
  });

  it('takes the longer description, with a warning', async () => {
    const lines = captureDiag();
    const { meter, producer } = start();
    for (const description of ['short', 'the longer one', 'other']) {
      meter.createCounter('c', { description }).add(1);
      meter.createObservableGauge('g', { description }).addCallback((result) => result.observe(1));
    }
    const collected = await collect(producer);
    expect(collected.numbers('c')).toEqual({ '{}': 3 });
    expect(collected.metric('c').descriptor.description).toBe('the longer one');
    expect(collected.metric('g').descriptor.description).toBe('the longer one');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe(
      `${PREFIX}two instruments are named c, with description "short" and "the longer one": they share one metric, ` +
        'with the first name and boundaries and the longer description',
    );
  });

  it('keeps the first boundaries, with a warning', async () => {
    const lines = captureDiag();
    const { meter, producer } = start();
    for (const boundary of [1, 2]) {
      meter.createHistogram('h', { advice: { explicitBucketBoundaries: [boundary] } }).record(1.5);
    }
    expect((await collect(producer)).histogram('h').buckets).toEqual({ boundaries: [1], counts: [0, 2] });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('with boundaries [1] and [2]');
  });

  it.each([
    { what: 'unit', options: { unit: 'ms' } },
    { what: 'value type', options: { valueType: ValueType.INT } },
  ])('gets a metric of its own where its $what differs, with a warning', async ({ options }) => {
    const lines = captureDiag();
    const { meter, producer } = start();
    meter.createCounter('c').add(1);
    for (let time = 0; time < 2; time += 1) meter.createCounter('c', options).add(2);
    const { metrics } = await collect(producer);
    expect(metrics.map(({ dataPoints }) => dataPoints[0]!.value)).toEqual([1, 4]);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/both are exported; give one of them another name, by a View say$/);
  });

  it('gets a metric of its own where it is of another type, with a warning', async () => {
    const lines = captureDiag();
    const { meter, producer } = start();
    meter.createCounter('m').add(1);
    meter.createHistogram('m').record(1);
    meter.createObservableCounter('m').addCallback((result) => result.observe(1));
    expect((await collect(producer)).names).toEqual(['m', 'm', 'm']);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain('with type "COUNTER" and "HISTOGRAM"');
  });

  it('shares nothing with one of another meter', async () => {
    const lines = captureDiag();
    const { provider, producer } = start();
    const meters = [
      provider.getMeter('one'),
      provider.getMeter('two'),
      provider.getMeter('one', '1.0'),
      provider.getMeter('one', '1.0', { schemaUrl: 'https://example.com/1' }),
    ];
    for (const meter of meters) meter.createCounter('c').add(1);
    for (const meter of [provider.getMeter('one'), provider.getMeter('two')]) meter.createCounter('c').add(2);
    const { scopeMetrics } = (await collect(producer)).result.resourceMetrics;
    expect(scopeMetrics.map(({ scope, metrics }) => [scope, metrics[0]!.dataPoints[0]!.value])).toEqual([
      [{ name: 'one', version: '' }, 3],
      [{ name: 'two', version: '' }, 3],
      [{ name: 'one', version: '1.0' }, 1],
      [{ name: 'one', version: '1.0', schemaUrl: 'https://example.com/1' }, 1],
    ]);
    expect(lines).toEqual([]);
  });

  it('shares a metric where Views give two instruments one name', async () => {
    const lines = captureDiag();
    const views = ['a', 'b'].map((instrumentName) => ({ instrumentName, name: 'shared:name' }));
    const { meter, producer } = start({ views });
    for (const name of ['a', 'b']) meter.createCounter(name).add(1);
    expect((await collect(producer)).numbers('shared:name')).toEqual({ '{}': 2 });
    expect(lines).toEqual([]);
  });
});

describe('a name that is not valid', () => {
  it.each(['', '1st', 'with space', 'vllm:colon', 'ä', 'x'.repeat(256)])(
    'is warned of, and works: %j',
    async (name) => {
      const lines = captureDiag();
      const { meter, producer } = start();
      meter.createCounter(name).add(1);
      expect((await collect(producer)).numbers(name)).toEqual({ '{}': 1 });
      expect(lines).toEqual([
        `${PREFIX}invalid instrument name ${JSON.stringify(name)}: see the specification's syntax`,
      ]);
    },
  );

  it.each(['', undefined as never, 7 as never])(
    'of a meter is warned of, and is the empty name: %j',
    async (name) => {
      const lines = captureDiag();
      const { provider, producer } = start();
      provider.getMeter(name).createCounter('c').add(1);
      const [scope] = (await collect(producer)).result.resourceMetrics.scopeMetrics;
      expect(scope!.scope).toEqual({ name: '', version: '' });
      expect(lines).toEqual([`${PREFIX}a meter was asked for without a name`]);
    },
  );
});

describe('boundaries', () => {
  it.each([
    { what: "the specification's by default", advised: undefined, expected: 15 },
    { what: 'the advised ones', advised: [1, 2], expected: 2 },
    { what: 'one bucket where none are advised', advised: [], expected: 0 },
  ])('are $what', async ({ advised, expected }) => {
    const { meter, producer } = start();
    meter.createHistogram('h', advised && { advice: { explicitBucketBoundaries: advised } }).record(1);
    expect((await collect(producer)).histogram('h').buckets.boundaries).toHaveLength(expected);
  });

  it("are a View's before the advised ones", async () => {
    const { meter, producer } = start({
      views: [{ instrumentName: 'h', aggregation: { type: 4, options: { boundaries: [5] } } }],
    });
    meter.createHistogram('h', { advice: { explicitBucketBoundaries: [1, 2] } }).record(1);
    expect((await collect(producer)).histogram('h').buckets.boundaries).toEqual([5]);
  });

  it.each([[[1, Number.NaN]], [['1']], [7]])(
    'that are advised and are no numbers are warned of, and not used: %j',
    async (advised) => {
      const lines = captureDiag();
      const { meter, producer } = start();
      meter.createHistogram('h', { advice: { explicitBucketBoundaries: advised as never } }).record(1);
      expect((await collect(producer)).histogram('h').buckets.boundaries).toHaveLength(15);
      expect(lines).toEqual([
        `${PREFIX}the boundaries advised for h are no list of numbers: the default ones are used`,
      ]);
    },
  );
});
