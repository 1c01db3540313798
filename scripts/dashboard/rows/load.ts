import type { Row } from '../panel.ts';
import { gauge, mean, quantile } from '../promql.ts';

export const loadRow: Row = {
  title: 'Load: is there room?',
  panels: [
    {
      kind: 'lines',
      title: 'Requests running, waiting and deferred',
      width: 12,
      height: 9,
      unit: 'short',
      stacked: true,
      shows:
        'Requests in the schedulers of the selected engines, added up: running; waiting for room in the engine; deferred, which wait for something else, such as KV from another engine or a compiled grammar.',
      whenBad:
        'waiting requests while the KV cache has room: `max_num_seqs` or `max_num_batched_tokens` is what limits; raise it. Waiting with a full cache: more cache (`gpu_memory_utilization`, `kv_cache_dtype` fp8, `tensor_parallel_size`) or more engines (`data_parallel_size`). Deferred requests that pile up: look at the KV connector (`kv_transfer_config`) and the engine at its other end.',
      queries: [
        { expr: `sum(${gauge('vllm:num_requests_running')})`, legend: 'running' },
        {
          expr: `sum(${gauge('vllm:num_requests_waiting_by_reason', 'reason="capacity"')})`,
          legend: 'waiting for capacity',
        },
        {
          expr: `sum(${gauge('vllm:num_requests_waiting_by_reason', 'reason="deferred"')})`,
          legend: 'deferred',
        },
      ],
    },
    {
      kind: 'lines',
      title: 'Tokens per engine step',
      width: 12,
      height: 9,
      unit: 'short',
      shows:
        'How many tokens an output batch of an engine brings: computed prompt tokens and generated ones. Mean and p99; the p99 is interpolated within buckets that double.',
      whenBad:
        'a p99 at `max_num_batched_tokens` while requests wait: prompts queue behind one another; raise it for throughput and time to first token. If inter-token latency is the trouble, lower it: each step takes as long as its largest prefill chunk. A mean near the number of running requests says that the engine is decoding only.',
      queries: [
        { expr: mean('vllm:iteration_tokens_total'), legend: 'mean' },
        { expr: quantile(0.99, 'vllm:iteration_tokens_total'), legend: 'p99' },
      ],
    },
  ],
};
