import { describe, expect, it } from 'vitest';
import { mfuLine } from '../../src/stats-log/mfu-line.ts';
import { intervalOf, whole } from './intervals.ts';

describe('the line on model FLOPs utilization', () => {
  it('tells the rate of one GPU, averaged over the engines', () => {
    const interval = intervalOf({
      engines: 2,
      flopsPerGpu: 8.5e15,
      readBytesPerGpu: 30e12,
      writeBytesPerGpu: 3e12,
    });
    expect(whole(mfuLine(interval, 10))).toEqual({
      kind: 'mfu',
      text: 'MFU: 425.0 TF/s/GPU 1650.0 GB/s/GPU',
      attributes: {
        'vllm.stats.teraflops_per_gpu': 425,
        'vllm.stats.gigabytes_per_second_per_gpu': 1650,
      },
    });
  });

  it.each([
    [{ flopsPerGpu: 1e12 }, 'MFU: 0.1 TF/s/GPU 0.0 GB/s/GPU'],
    [{ readBytesPerGpu: 1e10 }, 'MFU: 0.0 TF/s/GPU 1.0 GB/s/GPU'],
    [{ writeBytesPerGpu: 1e10 }, 'MFU: 0.0 TF/s/GPU 1.0 GB/s/GPU'],
  ])('is there as soon as one of its statistics is: %j', (did, text) => {
    expect(mfuLine(intervalOf(did), 10)?.text).toBe(text);
  });

  it('is left out where the interval had none', () => {
    expect(mfuLine(intervalOf({ promptTokens: 5 }), 10)).toBeUndefined();
  });
});
