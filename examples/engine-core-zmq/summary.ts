import { type Sample, sumOf } from '../demo/exposition.ts';
import { readHistogram } from '../demo/histogram.ts';
import { formatCount, formatCountOf, formatHistogram, formatReasons } from '../demo/report.ts';
import type { EngineCoreReadyResponse } from './ready-response.ts';

/** Who is there, and where to scrape. */
export function formatOpening(ready: readonly EngineCoreReadyResponse[], url: string): string {
  const engines = ready.map(
    ({ data_parallel_rank: rank, num_gpu_blocks: blocks, block_size: size, max_model_len: length }) =>
      `Engine ${rank} is ready: ${formatCount(blocks)} KV blocks of ${size} tokens, requests of up to ${formatCount(length)} tokens`,
  );
  return [...engines, `Scrape ${url} meanwhile`].join('\n');
}

/** The preemption histogram, and the main counters. */
export function formatSummary(
  samples: readonly Sample[],
  { malformed, rejected }: { readonly malformed: number; readonly rejected: number },
): string {
  const count = (name: string): number => sumOf(samples, `vllm:${name}_total`);
  const counters = [
    formatReasons(samples),
    `Tokens   prompt ${formatCount(count('prompt_tokens'))}   generated ${formatCount(count('generation_tokens'))}`,
    `Prefix cache   ${formatCount(count('prefix_cache_hits'))} of ${formatCount(count('prefix_cache_queries'))} tokens found`,
  ];
  if (rejected > 0)
    counters.push(`Turned away   ${formatCountOf(rejected, 'prompt')} too long for the KV cache`);
  if (malformed > 0) counters.push(`Passed over   ${formatCountOf(malformed, 'malformed message')}`);
  return [formatHistogram(readHistogram(samples, 'vllm:request_num_preemptions')), counters.join('\n')].join(
    '\n\n',
  );
}
