import { diag, ValueType } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { collect } from './collected.ts';

const PREFIX = 'opentelemetry-instrumentation-vllm: metric ';

describe('a measurement that is not allowed', () => {
  it.each([
    { what: 'a negative value of a counter', create: 'createCounter', value: -1, reason: 'negative' },
    { what: 'a negative value of a histogram', create: 'createHistogram', value: -0.5, reason: 'negative' },
    { what: 'NaN of a histogram', create: 'createHistogram', value: Number.NaN, reason: 'notFinite' },
    { what: 'NaN of a gauge', create: 'createGauge', value: Number.NaN, reason: 'notFinite' },
    {
      what: 'Infinity of a counter',
      create: 'createCounter',
      value: Number.POSITIVE_INFINITY,
      reason: 'notFinite',
    },
    {
      what: '-Infinity of an up-down counter',
      create: 'createUpDownCounter',
      value: Number.NEGATIVE_INFINITY,
      reason: 'notFinite',
    },
    { what: 'a text', create: 'createHistogram', value: '1' as never, reason: 'notNumber' },
    { what: 'a bigint', create: 'createCounter', value: 1n as never, reason: 'notNumber' },
    { what: 'a symbol', create: 'createGauge', value: Symbol('s') as never, reason: 'notNumber' },
    {
      what: 'an object without a prototype, of which there is no text,',
      create: 'createCounter',
      value: Object.create(null) as never,
      reason: 'notNumber',
    },
    { what: 'nothing', create: 'createUpDownCounter', value: undefined as never, reason: 'notNumber' },
  ] as const)(
    '$what is dropped, counted as $reason, and warned of once',
    async ({ create, value, reason }) => {
      const lines = captureDiag();
      const provider = new BoundMeterProvider();
      const instrument = provider.getMeter('test')[create]('m');
      const bound = instrument.bind({ a: '1' });
      for (let time = 0; time < 2; time += 1) {
        if ('add' in bound) bound.add(value);
        else bound.record(value);
        if ('add' in instrument) instrument.add(value, { a: '2' });
        else instrument.record(value, { a: '2' });
      }
      const points = (await collect(provider.producer())).points('m');
      expect(points.map(({ attributes }) => attributes)).toEqual([{ a: '1' }]);
      expect([0, { count: 0 }]).toContainEqual(
        typeof points[0]!.value === 'number'
          ? points[0]!.value
          : { count: (points[0]!.value as { count: number }).count },
      );
      expect(provider.dropped).toEqual({ negative: 0, notFinite: 0, notNumber: 0, [reason]: 4 });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(new RegExp(`^${PREFIX}m: .* is dropped \\(${reason}\\); said once$`));
    },
  );

  it('is dropped of an observable instrument as well', async () => {
    captureDiag();
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    meter.createObservableGauge('g').addCallback((result) => {
      result.observe(Number.NaN, { a: 1 });
      result.observe('1' as never, { a: 2 });
      result.observe(-3, { a: 3 });
    });
    meter.createObservableCounter('c').addCallback((result) => {
      result.observe(-3, { a: 1 });
      result.observe(3, { a: 2 });
    });
    const collected = await collect(provider.producer());
    expect(collected.numbers('g')).toEqual({ '{"a":3}': -3 });
    expect(collected.numbers('c')).toEqual({ '{"a":2}': 3 });
    expect(provider.dropped).toEqual({ negative: 1, notFinite: 1, notNumber: 1 });
  });

  it('does no harm where the logger throws', () => {
    const refuse = (): never => {
      throw new Error('no room for this');
    };
    diag.setLogger({ error: refuse, warn: refuse, info: refuse, debug: refuse, verbose: refuse });
    onTestFinished(() => diag.disable());
    const provider = new BoundMeterProvider();
    provider.getMeter('test').createCounter('not valid').add(-1);
    expect(provider.dropped.negative).toBe(1);
  });
});

describe('a fraction where whole numbers are asked for', () => {
  it('is cut off, with one warning, by every kind of instrument', async () => {
    const lines = captureDiag();
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    const options = { valueType: ValueType.INT };
    const counter = meter.createCounter('counter', options);
    counter.add(1.75);
    counter.bind().add(2.5);
    meter.createUpDownCounter('upDown', options).add(-1.75);
    meter.createGauge('gauge', options).record(-2.5);
    meter.createHistogram('histogram', options).record(0.9);
    meter.createObservableGauge('observed', options).addCallback((result) => result.observe(7.9));
    const collected = await collect(provider.producer());
    expect(collected.numbers('counter')).toEqual({ '{}': 3 });
    expect(collected.numbers('upDown')).toEqual({ '{}': -1 });
    expect(collected.numbers('gauge')).toEqual({ '{}': -2 });
    expect(collected.histogram('histogram')).toMatchObject({ count: 1, sum: 0 });
    expect(collected.numbers('observed')).toEqual({ '{}': 7 });
    expect(lines[0]).toBe(
      `${PREFIX}counter: 1.75 is cut to a whole number, as its value type is INT; said once`,
    );
    expect(lines).toHaveLength(5);
  });
});
