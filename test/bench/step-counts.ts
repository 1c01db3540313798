import type { Counts } from './counts.ts';
import type { Totals, TotalsByName } from './totals.ts';

/** What a step in decode moves, as the candidates compare it. */
export function stepCounts(totals: TotalsByName): Counts {
  const of = (name: string): Totals => totals.get(`vllm:${name}`) ?? MISSING;
  const latency = of('inter_token_latency_seconds');
  const iterations = of('iteration_tokens_total');
  return {
    generationTokens: of('generation_tokens').count,
    firstTokens: of('time_to_first_token_seconds').count,
    latencies: latency.count,
    latencySeconds: latency.sum,
    latencyBuckets: latency.positions,
    iterations: iterations.count,
    iterationTokens: iterations.sum,
    iterationBuckets: iterations.positions,
    running: of('num_requests_running').count,
    waiting: of('num_requests_waiting').count,
    waitingByReason: of('num_requests_waiting_by_reason').count,
    kvCacheUsage: of('kv_cache_usage_perc').count,
    prefixCacheQueries: of('prefix_cache_queries').count,
    prefixCacheHits: of('prefix_cache_hits').count,
  };
}

const MISSING: Totals = { count: Number.NaN, sum: Number.NaN, positions: Number.NaN };
