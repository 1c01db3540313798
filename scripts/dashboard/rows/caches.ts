import type { Row } from '../panel.ts';
import { rateOf, ratio } from '../promql.ts';

export const cacheRow: Row = {
  title: 'Caches: what is saved?',
  panels: [
    {
      kind: 'lines',
      title: 'Cache hit rates',
      width: 12,
      height: 9,
      unit: 'percentunit',
      max: 1,
      shows:
        "Hits by look-ups in the interval: of prompt tokens in the engine's own prefix cache, of tokens in a cache shared between engines, of media items in the multimodal cache. By token, not by request: one long prompt outweighs many short ones. A gap means that nothing was looked up.",
      whenBad:
        'a prefix rate that falls under load: blocks are evicted before they are asked for again; more cache (`gpu_memory_utilization`, `kv_cache_dtype` fp8), a second tier (`kv_transfer_config`), or routing by prefix. Near zero all the time: `enable_prefix_caching` is off, or prompts begin with something unique, such as a date. Multimodal: raise `mm_processor_cache_gb`.',
      queries: [
        {
          expr: ratio(rateOf('vllm:prefix_cache_hits'), rateOf('vllm:prefix_cache_queries')),
          legend: 'prefix',
          mayBeEmpty: 'engines with `enable_prefix_caching` off look nothing up in the prefix cache.',
        },
        {
          expr: ratio(
            rateOf('vllm:external_prefix_cache_hits'),
            rateOf('vllm:external_prefix_cache_queries'),
          ),
          legend: 'external prefix',
          mayBeEmpty: 'without a KV connector nothing is looked up in an external cache.',
        },
        {
          expr: ratio(rateOf('vllm:mm_cache_hits'), rateOf('vllm:mm_cache_queries')),
          legend: 'multimodal',
          mayBeEmpty:
            'the multimodal cache is in the frontend, which has to tell (`engine.recordMultiModalCacheStats`), and only requests with media ask it.',
        },
      ],
    },
    {
      kind: 'lines',
      title: 'Cached prompt tokens by tier',
      width: 12,
      height: 9,
      unit: 'suffix: tok/s',
      stacked: true,
      shows:
        "Prompt tokens per second that needed no computation, by the tier that held them: the GPU's own cache, host memory, another engine, disk. Counted when the scheduler admits a request.",
      whenBad:
        'all on `device` and a low hit rate: a second tier would help, host memory or disk through a connector in `kv_transfer_config`. Much from slow tiers with a high time to first token: the transfer costs more than it saves; give the first tier more room (`gpu_memory_utilization`).',
      queries: [{ expr: rateOf('vllm:prompt_tokens_cached_by_source', ['source']), legend: '{{source}}' }],
    },
  ],
};
