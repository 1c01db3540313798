import type { EngineInterval } from './engine-interval.ts';
import { formatFixed } from './format-fixed.ts';
import type { LineContent } from './stats-line.ts';

/**
 * The line on model FLOPs utilization, per GPU and averaged over the engines; none without performance statistics in
 * the interval.
 */
export function mfuLine(interval: EngineInterval, elapsedSeconds: number): LineContent | undefined {
  const { flopsPerGpu, readBytesPerGpu, writeBytesPerGpu } = interval;
  const bytesPerGpu = readBytesPerGpu + writeBytesPerGpu;
  if (flopsPerGpu === 0 && bytesPerGpu === 0) return undefined;
  const engineSeconds = elapsedSeconds * interval.engines;
  const teraflops = flopsPerGpu / engineSeconds / 1e12;
  const gigabytes = bytesPerGpu / engineSeconds / 1e9;
  return {
    kind: 'mfu',
    text: `MFU: ${formatFixed(teraflops, 1)} TF/s/GPU ${formatFixed(gigabytes, 1)} GB/s/GPU`,
    attributes: () => ({
      'vllm.stats.teraflops_per_gpu': teraflops,
      'vllm.stats.gigabytes_per_second_per_gpu': gigabytes,
    }),
  };
}
