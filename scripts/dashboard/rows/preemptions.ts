import type { Row } from '../panel.ts';
import {
  bucketIncrease,
  ENGINE_LEGEND,
  gauge,
  mean,
  PER_ENGINE,
  quantile,
  rateOf,
  ratio,
  samplesPerSecond,
  samplesUpTo,
} from '../promql.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';

/** Of the ended requests, those preempted more often than a boundary of the histogram. */
const shareAbove = (bound: number): string =>
  `1 - ${ratio(samplesUpTo(bound, PREEMPTIONS), samplesPerSecond(PREEMPTIONS))}`;

export const preemptionRow: Row = {
  title: 'Preemptions: do requests thrash?',
  panels: [
    {
      kind: 'heatmap',
      title: 'Preemptions per request',
      width: 12,
      height: 9,
      axis: 'preemptions',
      shows:
        'How often the requests that ended in each interval had been preempted. A row is a bucket, named by its upper bound: the lowest holds 0 and 1 together. The dots are exemplars: a click opens the trace of that request, in whose timeline each preemption is an event.',
      whenBad:
        'colour that climbs above 5 means that some requests are computed again and again. Open the highest dot and see what kind of request it was (long prompt, long output, late arrival). Give the KV cache more room (`gpu_memory_utilization` up, `kv_cache_dtype` fp8, a greater `tensor_parallel_size`), or let fewer requests share it (`max_num_seqs` or `max_num_batched_tokens` down, or another engine).',
      queries: [{ expr: bucketIncrease(PREEMPTIONS), legend: '{{le}}', exemplars: true }],
    },
    {
      kind: 'lines',
      title: 'Share of requests preempted more than n times',
      width: 12,
      height: 9,
      unit: 'percentunit',
      shows:
        'Of the requests that ended in the interval, the share preempted more than 1, 3, 5 and 10 times. A gap means that none ended. Read from the buckets, so never diluted by the requests that were not preempted.',
      whenBad:
        'above 1 is everyday where the cache is well used; above 5 for more than a percent is thrash, and above 10 means that the same requests lose every time. Lower `max_num_seqs` until the line for 5 is flat, then win throughput back with cache: `gpu_memory_utilization`, `kv_cache_dtype` fp8, `tensor_parallel_size`. If a few very long requests do it, bound them with `max_model_len` or serve them from an engine of their own.',
      queries: [1, 3, 5, 10].map((bound) => ({ expr: shareAbove(bound), legend: `more than ${bound}` })),
    },
    {
      kind: 'lines',
      title: 'Thrash: p99 of preemptions',
      width: 8,
      height: 8,
      unit: 'short',
      shows:
        'The number of preemptions that 99 % of the requests which ended in the interval did not exceed. It is interpolated within a bucket: 0 to 1 reads as "at most once", 5 to 10 as somewhere in between, and 20 as "20 or more".',
      whenBad:
        'compare with the KV cache usage at the right. A full cache and a rising p99: lower `max_num_seqs`, or raise `gpu_memory_utilization` or `tensor_parallel_size`. A p99 that rises while the cache has room points to bursts shorter than the interval: look at waiting requests, and shape arrivals at the gateway.',
      queries: [{ expr: quantile(0.99, PREEMPTIONS), legend: 'p99' }],
    },
    {
      kind: 'lines',
      title: 'Thrash: requests preempted more than 5 times, per minute',
      width: 8,
      height: 8,
      unit: 'reqpm',
      shows: 'How many requests per minute end after more than 5 preemptions: how many users feel it.',
      whenBad:
        'anything that stays above zero is worth a trace: open one from the heatmap above. Lower `max_num_seqs` or `max_num_batched_tokens` so that fewer requests compete for blocks; with `scheduling_policy` priority, check that it is not always the same class of requests that yields.',
      queries: [
        {
          expr: `60 * (${samplesPerSecond(PREEMPTIONS)} - ${samplesUpTo(5, PREEMPTIONS)})`,
          legend: 'more than 5',
        },
      ],
    },
    {
      kind: 'lines',
      title: 'KV cache usage',
      width: 8,
      height: 8,
      unit: 'percentunit',
      max: 1,
      badFrom: 0.95,
      shows:
        'The share of KV cache blocks in use, for each engine. Never added up: one full engine among idle ones preempts all the same.',
      whenBad:
        'near 100 % is full use as long as nothing is preempted. With preemptions, the cache is too small for the load: `gpu_memory_utilization` up, `kv_cache_dtype` fp8, `tensor_parallel_size` up, or `max_num_seqs` down. One engine full and others not: the balancer does not look at the cache; route by this metric.',
      queries: [
        {
          expr: `max by (${PER_ENGINE.join(', ')}) (${gauge('vllm:kv_cache_usage_perc')})`,
          legend: ENGINE_LEGEND,
        },
      ],
    },
    {
      kind: 'lines',
      title: 'Preemptions per second, engine-wide',
      width: 12,
      height: 8,
      unit: 'short',
      shows:
        "The engine's own counter, for each engine: preemptions when they happen, of requests that may still be running. The distribution above counts them when the request ends, so it follows later, and the two agree over long times alone.",
      whenBad:
        'a rise here with a flat distribution means that the requests concerned have not ended yet: act before they do. Lower `max_num_seqs`, raise `gpu_memory_utilization`, or send new requests to an engine with room.',
      queries: [{ expr: rateOf('vllm:num_preemptions', PER_ENGINE), legend: ENGINE_LEGEND }],
    },
    {
      kind: 'lines',
      title: 'Mean preemptions per request',
      width: 12,
      height: 8,
      unit: 'short',
      shows:
        'Preemptions of the requests that ended in the interval, divided by their number. Diluted by all the requests with none: ten preemptions of one request among a thousand read 0.01. For how bad it is for those concerned, read the shares and the p99.',
      whenBad:
        'a mean that rises with flat shares above 5 is spread thin, and costs throughput rather than anyone in particular: a preempted request is computed again. Give the cache more room (`gpu_memory_utilization`, `kv_cache_dtype` fp8), and keep `enable_prefix_caching` on, so that part of it comes back from the cache.',
      queries: [{ expr: mean(PREEMPTIONS), legend: 'mean' }],
    },
  ],
};
