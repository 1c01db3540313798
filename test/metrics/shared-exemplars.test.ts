import { ROOT_CONTEXT, trace, type Context } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { exemplarsBeside, seriesKey, SharedExemplars } from '../../src/metrics/shared-exemplars.ts';

const SPAN = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
const SAMPLED: Context = trace.setSpanContext(ROOT_CONTEXT, SPAN);

/** The values kept for a series, by bucket. */
const valuesOf = (key: string): (number | undefined)[] | undefined =>
  exemplarsBeside(key)?.byBucket.map((exemplar) => exemplar?.value);

describe('seriesKey', () => {
  it('is the same for attributes in another order', () => {
    expect(seriesKey('m', { engine: '0', model_name: 'x' })).toBe(
      '["m",[["engine","0"],["model_name","x"]]]',
    );
    expect(seriesKey('m', { model_name: 'x', engine: '0' })).toBe(
      '["m",[["engine","0"],["model_name","x"]]]',
    );
  });

  it('is another for another metric', () => {
    expect(seriesKey('m', {})).not.toBe(seriesKey('n', {}));
  });
});

describe('SharedExemplars', () => {
  it('keeps what was recorded in a sampled span by bucket, a boundary belonging to the bucket below it', () => {
    const key = seriesKey('vllm:buckets', {});
    const exemplars = new SharedExemplars(key, [1, 5]);
    for (const value of [5, 1, 5.5, 0.5]) exemplars.offer(value, SAMPLED);
    expect(valuesOf(key)).toEqual([0.5, 5, 5.5]);
    exemplars.release();
  });

  it('keeps nothing of a span that is not sampled, and no value that a histogram drops', () => {
    const key = seriesKey('vllm:refused', {});
    const exemplars = new SharedExemplars(key, [1]);
    exemplars.offer(1, ROOT_CONTEXT);
    exemplars.offer(1, trace.setSpanContext(ROOT_CONTEXT, { ...SPAN, traceFlags: 0 }));
    exemplars.offer(Number.NaN, SAMPLED);
    exemplars.offer(Infinity, SAMPLED);
    exemplars.offer(-1, SAMPLED);
    expect(valuesOf(key)).toEqual([]);
    exemplars.release();
  });

  it('are one for all who record into the series, until the last has released them', () => {
    const key = seriesKey('vllm:shared', { engine: '0' });
    expect(valuesOf(key)).toBeUndefined();
    const first = new SharedExemplars(key, [1]);
    const second = new SharedExemplars(key, [1]);
    first.offer(0.5, SAMPLED);
    second.offer(2, SAMPLED);
    expect(valuesOf(key)).toEqual([0.5, 2]);
    first.release();
    expect(valuesOf(key)).toEqual([0.5, 2]);
    second.release();
    expect(valuesOf(key)).toBeUndefined();
  });

  it('are found by another copy of the package', async () => {
    const key = seriesKey('vllm:copies', {});
    const copy = '../../src/metrics/shared-exemplars.ts?copy';
    const other = (await import(copy)) as { exemplarsBeside: typeof exemplarsBeside };
    expect(other.exemplarsBeside).not.toBe(exemplarsBeside);
    const exemplars = new SharedExemplars(key, [1]);
    expect(other.exemplarsBeside(key)).toBe(exemplarsBeside(key));
    expect(other.exemplarsBeside(key)).toBeDefined();
    exemplars.release();
  });
});
