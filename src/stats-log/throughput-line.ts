import type { EngineInterval } from './engine-interval.ts';
import { formatCount, formatFixed } from './format-fixed.ts';
import type { LineContent, StatsAttributes } from './stats-line.ts';

/** Whose words: those of vLLM's Python frontend or of its Rust frontend. */
export type StatsLogStyle = 'python' | 'rust';

/** The main line. */
export function throughputLine(
  interval: EngineInterval,
  elapsedSeconds: number,
  style: StatsLogStyle,
): LineContent {
  const numbers: Numbers = {
    promptThroughput: interval.promptTokens / elapsedSeconds,
    generationThroughput: interval.generationTokens / elapsedSeconds,
    running: interval.running,
    waiting: interval.waiting + interval.deferred,
    deferred: interval.deferred,
    preemptions: interval.preemptions,
    kvCacheUsage: interval.kvCacheUsage ?? 0,
    prefixCacheHitRate: hitRate(interval.prefixCacheQueries, interval.prefixCacheHits),
    externalHitRate: hitRate(interval.externalPrefixCacheQueries, interval.externalPrefixCacheHits),
    mmHitRate: hitRate(interval.mmCacheQueries, interval.mmCacheHits),
  };
  return {
    kind: 'throughput',
    text: style === 'python' ? pythonText(numbers) : rustText(numbers),
    attributes: () => attributesOf(interval, numbers),
  };
}

interface Numbers {
  readonly promptThroughput: number;
  readonly generationThroughput: number;
  readonly running: number;
  readonly waiting: number;
  readonly deferred: number;
  readonly preemptions: number;
  readonly kvCacheUsage: number;
  readonly prefixCacheHitRate: number | undefined;
  readonly externalHitRate: number | undefined;
  readonly mmHitRate: number | undefined;
}

function pythonText(numbers: Numbers): string {
  return (
    `Avg prompt throughput: ${formatFixed(numbers.promptThroughput, 1)} tokens/s` +
    `, Avg generation throughput: ${formatFixed(numbers.generationThroughput, 1)} tokens/s` +
    `, Running: ${formatCount(numbers.running)} reqs, Waiting: ${formatCount(numbers.waiting)} reqs` +
    pressurePart(numbers) +
    `, GPU KV cache usage: ${percent(numbers.kvCacheUsage)}` +
    prefixCachePart(numbers) +
    (numbers.mmHitRate === undefined ? '' : `, MM cache hit rate: ${percent(numbers.mmHitRate)}`)
  );
}

function rustText(numbers: Numbers): string {
  return (
    `Avg prompt tput: ${formatFixed(numbers.promptThroughput, 1)} toks/s` +
    `, Avg generation tput: ${formatFixed(numbers.generationThroughput, 1)} toks/s` +
    `, Reqs Running: ${formatCount(numbers.running)}, Waiting: ${formatCount(numbers.waiting)}` +
    pressurePart(numbers) +
    `, GPU KV cache used: ${percent(numbers.kvCacheUsage)}` +
    prefixCachePart(numbers)
  );
}

function pressurePart({ deferred, preemptions }: Numbers): string {
  return (
    (deferred > 0 ? `, Deferred: ${formatCount(deferred)} reqs` : '') +
    (preemptions > 0 ? `, Preemptions: ${formatCount(preemptions)}` : '')
  );
}

function prefixCachePart({ prefixCacheHitRate = 0, externalHitRate }: Numbers): string {
  return (
    `, Prefix cache hit rate: ${percent(prefixCacheHitRate)}` +
    (externalHitRate === undefined ? '' : `, External prefix cache hit rate: ${percent(externalHitRate)}`)
  );
}

function attributesOf(interval: EngineInterval, numbers: Numbers): StatsAttributes {
  const attributes: StatsAttributes = {
    'vllm.stats.prompt_tokens': interval.promptTokens,
    'vllm.stats.generation_tokens': interval.generationTokens,
    'vllm.stats.prompt_throughput': numbers.promptThroughput,
    'vllm.stats.generation_throughput': numbers.generationThroughput,
    'vllm.stats.running': numbers.running,
    'vllm.stats.waiting': numbers.waiting,
    'vllm.stats.deferred': numbers.deferred,
    'vllm.stats.preemptions': numbers.preemptions,
    'vllm.stats.kv_cache_usage': numbers.kvCacheUsage,
  };
  const { prefixCacheHitRate, externalHitRate, mmHitRate } = numbers;
  if (prefixCacheHitRate !== undefined) attributes['vllm.stats.prefix_cache_hit_rate'] = prefixCacheHitRate;
  if (externalHitRate !== undefined)
    attributes['vllm.stats.external_prefix_cache_hit_rate'] = externalHitRate;
  if (mmHitRate !== undefined) attributes['vllm.stats.mm_cache_hit_rate'] = mmHitRate;
  return attributes;
}

/** A ratio; undefined where nothing was looked up. */
function hitRate(queries: number, hits: number): number | undefined {
  return queries > 0 ? hits / queries : undefined;
}

function percent(ratio: number): string {
  return `${formatFixed(ratio * 100, 1)}%`;
}
