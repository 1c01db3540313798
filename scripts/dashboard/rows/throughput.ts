import type { Row } from '../panel.ts';
import { quantile, rateOf } from '../promql.ts';

export const throughputRow: Row = {
  title: 'Throughput: what do the engines do?',
  panels: [
    {
      kind: 'lines',
      title: 'Prompt and generation throughput',
      width: 8,
      height: 9,
      unit: 'suffix: tok/s',
      shows:
        'Tokens per second over all selected engines: prompt tokens of requests that got their first token, cached ones included, and generated tokens.',
      whenBad:
        'generation that falls while requests run or wait: the engines compute prompts, or preempted requests again (first row). Lower `max_num_batched_tokens` to favour decoding, `max_num_seqs` to stop preemptions. Zero with requests running: an engine hangs; see "Engines".',
      queries: [
        { expr: rateOf('vllm:prompt_tokens'), legend: 'prompt' },
        { expr: rateOf('vllm:generation_tokens'), legend: 'generation' },
      ],
    },
    {
      kind: 'lines',
      title: 'Prompt tokens by source',
      width: 8,
      height: 9,
      unit: 'suffix: tok/s',
      stacked: true,
      shows:
        "Prompt tokens per second by where their KV came from: computed, the engine's own prefix cache, or another engine. They add up to the prompt throughput.",
      whenBad:
        'much `local_compute` for prompts that share prefixes: turn `enable_prefix_caching` on, give the cache room (`gpu_memory_utilization`, `kv_cache_dtype` fp8) and route requests with the same prefix to the same engine. No `external_kv_transfer` where a connector is configured: check `kv_transfer_config`.',
      queries: [{ expr: rateOf('vllm:prompt_tokens_by_source', ['source']), legend: '{{source}}' }],
    },
    {
      kind: 'lines',
      title: 'Prompt and output lengths',
      width: 8,
      height: 9,
      unit: 'suffix: tokens',
      shows:
        'Median and p95 of the prompt and output lengths of the requests that ended in the interval, interpolated within wide buckets (1-2-5): whether the traffic changed.',
      whenBad:
        'longer requests need more cache each: lower `max_num_seqs` or add cache (`gpu_memory_utilization`, `tensor_parallel_size`) before they are preempted. A jump of output lengths with the reason `length` below: clients ask for too much; bound it at the gateway or with `max_model_len`.',
      queries: [
        { expr: quantile(0.5, 'vllm:request_prompt_tokens'), legend: 'prompt p50' },
        { expr: quantile(0.95, 'vllm:request_prompt_tokens'), legend: 'prompt p95' },
        { expr: quantile(0.5, 'vllm:request_generation_tokens'), legend: 'output p50' },
        { expr: quantile(0.95, 'vllm:request_generation_tokens'), legend: 'output p95' },
      ],
    },
  ],
};
