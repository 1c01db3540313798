import type { HistogramMetric } from '../../../src/metrics/metric.ts';
import type { Query, Row } from '../panel.ts';
import { mean, quantile } from '../promql.ts';

const distributionOf = (name: HistogramMetric['name']): Query[] => [
  { expr: quantile(0.99, name), legend: 'p99', exemplars: true },
  { expr: quantile(0.95, name), legend: 'p95' },
  { expr: quantile(0.5, name), legend: 'p50' },
  { expr: mean(name), legend: 'mean' },
];

const PHASES = [
  { legend: 'queue', name: 'vllm:request_queue_time_seconds' },
  { legend: 'prefill', name: 'vllm:request_prefill_time_seconds' },
  { legend: 'decode', name: 'vllm:request_decode_time_seconds' },
] as const;

export const latencyRow: Row = {
  title: 'Latency: what do users feel?',
  panels: [
    {
      kind: 'lines',
      title: 'Time to first token (TTFT)',
      width: 8,
      height: 9,
      unit: 's',
      shows:
        'From the arrival of a request to the receipt of its first token, wall clock, at the moment of the first token. The dots are exemplars: a click opens the trace.',
      whenBad:
        'see below where the time goes. Queue: more room (`max_num_seqs` up if the KV cache has any, else `gpu_memory_utilization`, `tensor_parallel_size`, another engine). Prefill: `max_num_batched_tokens` up, `enable_prefix_caching` on, `tensor_parallel_size` up; `long_prefill_token_threshold` keeps a few long prompts from holding up the short ones.',
      queries: distributionOf('vllm:time_to_first_token_seconds'),
    },
    {
      kind: 'lines',
      title: 'Inter-token latency (ITL)',
      width: 8,
      height: 9,
      unit: 's',
      shows:
        'Between one output of a request and the next, engine clock: one sample per output, not per token, so with speculative decoding a sample stands for several tokens. The pause of a preempted request is one long sample. The dots are exemplars: a click opens the trace.',
      whenBad:
        'a high p50: steps are too large; `max_num_batched_tokens` or `max_num_seqs` down, `tensor_parallel_size` up, or speculative decoding. A high p99 alone: preemptions (first row), or prefills among the decodes (`max_num_batched_tokens` down).',
      queries: distributionOf('vllm:inter_token_latency_seconds'),
    },
    {
      kind: 'lines',
      title: 'End-to-end latency (e2e)',
      width: 8,
      height: 9,
      unit: 's',
      shows:
        'From the arrival of a request to its end, wall clock, whatever the end: aborted requests are in it with the time until they were given up. The dots are exemplars: a click opens the trace.',
      whenBad:
        'first rule out that outputs only became longer ("Prompt and output lengths"). Then read the phases below: queue wants room (`max_num_seqs`, `gpu_memory_utilization`, engines), prefill `max_num_batched_tokens`, decode `tensor_parallel_size`, fewer preemptions or speculative decoding (`speculative_config`).',
      queries: distributionOf('vllm:e2e_request_latency_seconds'),
    },
    {
      kind: 'lines',
      title: 'Where the time goes: mean by phase',
      width: 12,
      height: 9,
      unit: 's',
      stacked: true,
      shows:
        'The mean queue, prefill and decode time of the requests that ended in the interval, engine clock, one on the other; prefill and decode together are the inference time. Requests that never got so far count with 0 and pull the mean down. The sum is less than the end-to-end latency, which also has the time between frontend and engine.',
      whenBad:
        'a growing queue: not enough room (`max_num_seqs`, `gpu_memory_utilization`, more engines). A growing prefill: long or uncached prompts (`enable_prefix_caching`, `max_num_batched_tokens`). A growing decode: longer outputs, larger batches (`max_num_seqs` down), or pauses by preemption, which are in it.',
      queries: PHASES.map(({ legend, name }) => ({ expr: mean(name), legend })),
    },
    {
      kind: 'lines',
      title: 'Where the time goes: p95 by phase',
      width: 12,
      height: 9,
      unit: 's',
      shows:
        'The p95 of queue, prefill, decode and inference time, each by itself: quantiles do not add up. The first bucket ends at 0.3 s, so anything below is a guess within it.',
      whenBad:
        'the phase that rises is the one to treat: queue with `max_num_seqs` or more engines, prefill with `max_num_batched_tokens` and `enable_prefix_caching`, decode with `tensor_parallel_size` or a smaller `max_num_seqs`. Inference that rises while prefill does not: preemptions (first row), or batches that grew.',
      queries: [...PHASES, { legend: 'inference', name: 'vllm:request_inference_time_seconds' } as const].map(
        ({ legend, name }) => ({ expr: quantile(0.95, name), legend }),
      ),
    },
  ],
};
