import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BucketExemplars } from '../../src/metrics/bucket-exemplars.ts';

const FIRST = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
const SECOND = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), traceFlags: 1 };

describe('BucketExemplars', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000, toFake: ['Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('holds nothing at first', () => {
    expect(new BucketExemplars().byBucket).toEqual([]);
  });

  it('holds a measurement at its bucket, with its time and ids and nothing else of the span', () => {
    const exemplars = new BucketExemplars();
    exemplars.keep(2, 0.75, FIRST);
    expect(exemplars.byBucket).toEqual([
      undefined,
      undefined,
      { value: 0.75, timeMillis: 1_000, traceId: FIRST.traceId, spanId: FIRST.spanId },
    ]);
  });

  it('holds the last of each bucket, in the order of the buckets', () => {
    const exemplars = new BucketExemplars();
    exemplars.keep(1, 3, FIRST);
    exemplars.keep(0, 1, FIRST);
    vi.setSystemTime(2_500);
    exemplars.keep(1, 2, SECOND);
    expect(exemplars.byBucket).toEqual([
      { value: 1, timeMillis: 1_000, traceId: FIRST.traceId, spanId: FIRST.spanId },
      { value: 2, timeMillis: 2_500, traceId: SECOND.traceId, spanId: SECOND.spanId },
    ]);
  });
});
