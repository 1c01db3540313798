import { describe, expect, it } from 'vitest';
import type { EngineInterval } from '../../src/stats-log/engine-interval.ts';
import { throughputLine } from '../../src/stats-log/throughput-line.ts';
import { intervalOf, whole } from './intervals.ts';

const BUSY = intervalOf({
  promptTokens: 12_345,
  generationTokens: 678,
  running: 12,
  waiting: 3,
  kvCacheUsage: 0.4567,
  prefixCacheQueries: 8,
  prefixCacheHits: 3,
});

describe('the main line in the words of the Python frontend', () => {
  it.each<[string, Partial<EngineInterval>, string]>([
    [
      'without what is optional',
      {},
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%',
    ],
    [
      'with deferred requests, which wait too',
      { deferred: 2 },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 5 reqs, Deferred: 2 reqs, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%',
    ],
    [
      'with preemptions',
      { preemptions: 4 },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 3 reqs, Preemptions: 4, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%',
    ],
    [
      'with an external prefix cache that was asked in vain',
      { externalPrefixCacheQueries: 10 },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 0.0%',
    ],
    [
      'with a multimodal cache',
      { mmCacheQueries: 3, mmCacheHits: 2 },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%, MM cache hit rate: 66.7%',
    ],
    [
      'with everything',
      {
        deferred: 2,
        preemptions: 4,
        externalPrefixCacheQueries: 8,
        externalPrefixCacheHits: 1,
        mmCacheQueries: 3,
        mmCacheHits: 2,
      },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 5 reqs, Deferred: 2 reqs, Preemptions: 4, GPU KV cache usage: 45.7%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 12.5%, MM cache hit rate: 66.7%',
    ],
    [
      'where no cache was asked and no engine is there',
      { prefixCacheQueries: 0, prefixCacheHits: 0, kvCacheUsage: undefined },
      'Avg prompt throughput: 1234.5 tokens/s, Avg generation throughput: 67.8 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%',
    ],
  ])('reads, %s', (_, did, text) => {
    expect(throughputLine({ ...BUSY, ...did }, 10, 'python').text).toBe(text);
  });

  it('rounds ties to the even digit, from the exact value', () => {
    const interval = intervalOf({ promptTokens: 1, generationTokens: 3, kvCacheUsage: 0.0025 });
    expect(throughputLine(interval, 4, 'python').text).toContain(
      'Avg prompt throughput: 0.2 tokens/s, Avg generation throughput: 0.8 tokens/s',
    );
    expect(throughputLine(interval, 4, 'python').text).toContain('GPU KV cache usage: 0.2%');
  });
});

describe('the main line in the words of the Rust frontend', () => {
  it.each<[string, Partial<EngineInterval>, string]>([
    [
      'without what is optional',
      { mmCacheQueries: 3 },
      'Avg prompt tput: 1234.5 toks/s, Avg generation tput: 67.8 toks/s, Reqs Running: 12, Waiting: 3, GPU KV cache used: 45.7%, Prefix cache hit rate: 37.5%',
    ],
    [
      'with everything',
      { deferred: 2, preemptions: 4, externalPrefixCacheQueries: 8, externalPrefixCacheHits: 8 },
      'Avg prompt tput: 1234.5 toks/s, Avg generation tput: 67.8 toks/s, Reqs Running: 12, Waiting: 5, Deferred: 2 reqs, Preemptions: 4, GPU KV cache used: 45.7%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 100.0%',
    ],
  ])('reads, %s', (_, did, text) => {
    expect(throughputLine({ ...BUSY, ...did }, 10, 'rust').text).toBe(text);
  });
});

describe('the numbers of the main line', () => {
  it.each(['python', 'rust'] as const)('are its attributes, not rounded, in either style: %s', (style) => {
    const interval = { ...BUSY, deferred: 1, mmCacheQueries: 3, mmCacheHits: 2 };
    expect(whole(throughputLine(interval, 10, style))).toMatchObject({
      kind: 'throughput',
      attributes: {
        'vllm.stats.prompt_tokens': 12_345,
        'vllm.stats.generation_tokens': 678,
        'vllm.stats.prompt_throughput': 1234.5,
        'vllm.stats.generation_throughput': 67.8,
        'vllm.stats.running': 12,
        'vllm.stats.waiting': 4,
        'vllm.stats.deferred': 1,
        'vllm.stats.preemptions': 0,
        'vllm.stats.kv_cache_usage': 0.4567,
        'vllm.stats.prefix_cache_hit_rate': 0.375,
        'vllm.stats.mm_cache_hit_rate': 2 / 3,
      },
    });
  });

  it('hold no hit rate where nothing was asked', () => {
    const { attributes } = whole(throughputLine(intervalOf({}), 10, 'python'));
    expect(Object.keys(attributes).filter((name) => name.endsWith('hit_rate'))).toEqual([]);
    const asked = intervalOf({ externalPrefixCacheQueries: 4 });
    expect(throughputLine(asked, 10, 'python').attributes()).toMatchObject({
      'vllm.stats.external_prefix_cache_hit_rate': 0,
    });
  });
});
