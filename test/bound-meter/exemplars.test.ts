import { ROOT_CONTEXT, trace, type Context } from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BoundMeterProvider, type BucketExemplars } from '../../src/bound-meter/index.ts';
import { batching } from './batching.ts';
import { collect, type Collected } from './collected.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** A Context with a sampled span, whose id ends in a digit. */
const sampled = (digit: number, traceFlags = 1): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId: TRACE_ID, spanId: `b7ad6b716920333${digit}`, traceFlags });

const exemplar = (value: number, timeMillis: number, digit: number) => ({
  value,
  timeMillis,
  traceId: TRACE_ID,
  spanId: `b7ad6b716920333${digit}`,
});

/** What the points of a metric keep, by the JSON text of their attributes. */
const keptIn = (collected: Collected, name: string) =>
  Object.fromEntries(
    (
      collected.points(name) as unknown as readonly {
        attributes: object;
        exemplars: BucketExemplars | undefined;
      }[]
    ).map(({ attributes, exemplars }) => [JSON.stringify(attributes), exemplars?.byBucket]),
  );

function start(options: { exemplars?: boolean } = {}) {
  const provider = new BoundMeterProvider(options);
  const histogram = provider
    .getMeter('test')
    .createHistogram('h', { advice: { explicitBucketBoundaries: [1, 5] } });
  return { provider, histogram, producer: provider.producer() };
}

describe('exemplars', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 7_000, toFake: ['Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('are, of each bucket, the last measurement in a sampled span', async () => {
    const { histogram, producer } = start();
    const bound = histogram.bind({ a: '1' });
    bound.record(5, sampled(1));
    bound.record(1, sampled(2));
    vi.setSystemTime(8_500);
    bound.record(5.5, sampled(3));
    bound.record(2, sampled(4));
    expect(keptIn(await collect(producer), 'h')).toEqual({
      '{"a":"1"}': [exemplar(1, 7_000, 2), exemplar(2, 8_500, 4), exemplar(5.5, 8_500, 3)],
    });
  });

  it('are kept of the unbound call and of recordMany alike', async () => {
    const { histogram, producer } = start();
    histogram.record(0.5, { a: '1' }, sampled(1));
    batching(histogram.bind({ a: '2' })).recordMany(3, 4, sampled(2));
    expect(keptIn(await collect(producer), 'h')).toEqual({
      '{"a":"1"}': [exemplar(0.5, 7_000, 1)],
      '{"a":"2"}': [undefined, exemplar(3, 7_000, 2)],
    });
  });

  it('are none without a Context, without a span, of a span that is not sampled, and of a value that is dropped', async () => {
    const { histogram, producer } = start();
    const bound = histogram.bind();
    bound.record(1);
    bound.record(1, ROOT_CONTEXT);
    bound.record(1, sampled(1, 0));
    bound.record(Number.NaN, sampled(1));
    bound.record(-1, sampled(1));
    expect(keptIn(await collect(producer), 'h')).toEqual({ '{}': undefined });
    expect((await collect(producer)).histogram('h').count).toBe(3);
  });

  it('are none of counters and gauges, which have no buckets', async () => {
    const { provider, producer } = start();
    provider.getMeter('test').createCounter('c').bind().add(1, sampled(1));
    provider.getMeter('test').createGauge('g').bind().record(1, sampled(1));
    const collected = await collect(producer);
    expect(keptIn(collected, 'c')).toEqual({ '{}': undefined });
    expect(keptIn(collected, 'g')).toEqual({ '{}': undefined });
  });

  it('are gone with a series that is dropped', async () => {
    const { histogram, producer } = start();
    const bound = histogram.bind({ a: '1' });
    bound.record(1, sampled(1));
    bound.unbind();
    histogram.bind({ a: '1' });
    expect(keptIn(await collect(producer), 'h')).toEqual({ '{"a":"1"}': undefined });
  });

  it('are none where the option says so', async () => {
    const { histogram, producer } = start({ exemplars: false });
    histogram.bind().record(1, sampled(1));
    histogram.record(1, {}, sampled(1));
    expect(keptIn(await collect(producer), 'h')).toEqual({ '{}': undefined });
    expect((await collect(producer)).histogram('h').count).toBe(2);
  });

  it('are switched by true or false, nothing else', () => {
    const options = { exemplars: 'no' } as unknown as { exemplars: boolean };
    expect(() => new BoundMeterProvider(options)).toThrow(
      new TypeError('exemplars must be true or false; got "no"'),
    );
  });
});
