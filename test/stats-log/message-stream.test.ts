import { describe, expect, it } from 'vitest';
import type { EngineCoreOutputs, SchedulerStats } from '../../src/engine/messages.ts';
import { preempted, queued, scheduled } from '../support/messages.ts';
import type { Service } from '../support/service.ts';
import { IDLE, startLoggedService } from './logged-service.ts';

const REQUEST = 'r';

/** Two steps of an engine that reports everything there is to report. */
function workOf(engine: number): readonly EngineCoreOutputs[] {
  return [
    {
      engine_index: engine,
      timestamp: 101,
      outputs: [
        {
          request_id: REQUEST,
          new_token_ids: [1, 2, 3],
          events: [queued(100), scheduled(100.5)],
          prefill_stats: {
            num_prompt_tokens: 1401,
            num_computed_tokens: 1001,
            num_cached_tokens: 400,
            num_local_cached_tokens: 300,
            num_external_cached_tokens: 100,
          },
        },
      ],
      scheduler_stats: {
        num_running_reqs: 9,
        num_waiting_reqs: 9,
        kv_cache_usage: 0.9,
        prefix_cache_stats: { queries: 800, hits: 300 },
        connector_prefix_cache_stats: { queries: 500, hits: 100, hits_by_source: { host: 100 } },
        spec_decoding_stats: {
          num_spec_tokens: 3,
          num_drafts: 10,
          num_draft_tokens: 30,
          num_accepted_tokens: 18,
          num_accepted_tokens_per_pos: [9, 6, 3],
        },
        cudagraph_stats: runOf(415, 415, 'NONE'),
        perf_stats: {
          num_flops_per_gpu: 2n ** 52n,
          num_read_bytes_per_gpu: 30_000_000_000n,
          num_write_bytes_per_gpu: 1e9,
        },
      },
    },
    {
      engine_index: engine,
      timestamp: 102,
      outputs: [
        { request_id: REQUEST, new_token_ids: { length: 31 }, events: [preempted(101.2), scheduled(101.4)] },
      ],
      scheduler_stats: {
        num_running_reqs: 5,
        num_waiting_reqs: 2,
        num_skipped_waiting_reqs: 4,
        kv_cache_usage: 0.0625,
        prefix_cache_stats: { queries: 0, hits: 0, preempted_queries: 900, preempted_hits: 900 },
        connector_prefix_cache_stats: { queries: 300, hits: 200 },
        spec_decoding_stats: {
          num_drafts: 6,
          num_draft_tokens: 18n,
          num_accepted_tokens: 3n,
          num_accepted_tokens_per_pos: [3, 0, 0],
        },
        cudagraph_stats: runOf(6, 8, 'FULL'),
        kv_connector_stats: {
          transfer_duration: [0.001, 0.003],
          post_duration: [0.0005, 0.0015],
          bytes_transferred: [2 ** 20, 2 ** 21],
          num_descriptors: [4, 5],
          num_failed_transfers: [1],
          num_failed_notifications: [2],
          num_kv_expired_reqs: [],
        },
        perf_stats: { num_flops_per_gpu: 1e15 },
      },
    },
    {
      engine_index: engine,
      timestamp: 103,
      scheduler_stats: { ...LAST, cudagraph_stats: runOf(6, 8, 'FULL') },
    },
  ];
}

/** Where the engine stands at the end. */
const LAST: SchedulerStats = {
  num_running_reqs: 5,
  num_waiting_reqs: 2,
  num_skipped_waiting_reqs: 4,
  kv_cache_usage: 0.0625,
};

function runOf(unpadded: number, padded: number, mode: string): SchedulerStats['cudagraph_stats'] {
  return {
    num_unpadded_tokens: unpadded,
    num_padded_tokens: padded,
    num_paddings: padded - unpadded,
    runtime_mode: mode,
  };
}

function work({ vllm }: Service, engine: number): void {
  vllm.engine(engine).startRequest({ requestId: REQUEST, promptTokens: 1401 });
  for (const message of workOf(engine)) vllm.observe(message, 1001);
  vllm.engine(engine).recordMultiModalCacheStats({ queries: 3, hits: 2 });
}

const SPEC_DECODE =
  'SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 2.62 tokens/s, Drafted throughput: 6.00 tokens/s, Accepted: 21 tokens, Drafted: 48 tokens, Per-position acceptance rate: 0.750, 0.375, 0.188, Avg Draft acceptance rate: 43.8%';
const MFU = 'MFU: 687.9 TF/s/GPU 3.9 GB/s/GPU';
const CUDAGRAPHS = [
  '**CUDAGraph Stats:**',
  '',
  '| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |',
  '|-----------------|---------------|--------------|--------------|-------|',
  '| 6               | 8             | 2            | FULL         | 2     |',
  '| 415             | 415           | 0            | NONE         | 1     |',
].join('\n');
const KV_TRANSFER =
  'KV Transfer metrics: Num successful transfers=2, Avg xfer time (ms)=2.0, P90 xfer time (ms)=2.8, Avg post time (ms)=1.0, P90 post time (ms)=1.4, Avg MB per transfer=1.5, Throughput (MB/s)=750.0, Avg number of descriptors=4.5, Num failed transfers=1, Num failed notifications=2';

const PYTHON =
  'Avg prompt throughput: 125.1 tokens/s, Avg generation throughput: 4.2 tokens/s, Running: 5 reqs, Waiting: 6 reqs, Deferred: 4 reqs, Preemptions: 1, GPU KV cache usage: 6.2%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 37.5%, MM cache hit rate: 66.7%';
const RUST =
  'Avg prompt tput: 125.1 toks/s, Avg generation tput: 4.2 toks/s, Reqs Running: 5, Waiting: 6, Deferred: 4 reqs, Preemptions: 1, GPU KV cache used: 6.2%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 37.5%';

describe('the lines on messages that hold everything', () => {
  it.each([
    ['python', PYTHON],
    ['rust', RUST],
  ] as const)('are these, in either style: %s', (style, main) => {
    const service = startLoggedService({ style });
    work(service, 0);
    const lines = [main, SPEC_DECODE, MFU, CUDAGRAPHS, KV_TRANSFER];
    expect(service.after(8)).toEqual(lines.map((line) => `info: ${line}`));
    expect(service.dropped()).toEqual({});
  });

  it('are these per engine, each with the index of its messages', () => {
    const service = startLoggedService({ perEngine: true });
    for (const engine of [1234, 7]) work(service, engine);
    const lines = [PYTHON, SPEC_DECODE, MFU, CUDAGRAPHS, KV_TRANSFER];
    expect(service.after(8)).toEqual([
      `debug: Engine 000: ${IDLE}`,
      ...lines.map((line) => `info: Engine 007: ${line}`),
      ...lines.map((line) => `info: Engine 1234: ${line}`),
    ]);
  });

  it('are these on two engines that did the same, and a third that did nothing', () => {
    const service = startLoggedService();
    for (const engine of [1, 2]) work(service, engine);
    expect(service.after(8)).toEqual([
      'info: Avg prompt throughput: 250.2 tokens/s, Avg generation throughput: 8.5 tokens/s, Running: 10 reqs, Waiting: 12 reqs, Deferred: 8 reqs, Preemptions: 2, GPU KV cache usage: 4.2%, Prefix cache hit rate: 37.5%, External prefix cache hit rate: 37.5%, MM cache hit rate: 66.7%',
      'info: SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 5.25 tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 42 tokens, Drafted: 96 tokens, Per-position acceptance rate: 0.750, 0.375, 0.188, Avg Draft acceptance rate: 43.8%',
      'info: MFU: 458.6 TF/s/GPU 2.6 GB/s/GPU',
      `info: ${CUDAGRAPHS.replace('| 2     |', '| 4     |').replace('| 1     |', '| 2     |')}`,
      'info: KV Transfer metrics: Num successful transfers=4, Avg xfer time (ms)=2.0, P90 xfer time (ms)=3.0, Avg post time (ms)=1.0, P90 post time (ms)=1.5, Avg MB per transfer=1.5, Throughput (MB/s)=750.0, Avg number of descriptors=4.5, Num failed transfers=2, Num failed notifications=4',
    ]);
  });

  it('leave out every part that the next interval has nothing of', () => {
    const service = startLoggedService();
    work(service, 0);
    service.after(8);
    service.vllm.observe({ engine_index: 0, scheduler_stats: { num_running_reqs: 1, kv_cache_usage: 0.5 } });
    expect(service.after(8)).toEqual([
      `info: ${IDLE.replace('Running: 0', 'Running: 1').replace('usage: 0.0', 'usage: 50.0')}`,
    ]);
  });
});

describe('the statistics of a diffusion model', () => {
  it('make no line on speculative decoding', () => {
    const service = startLoggedService({}, { isDiffusion: true });
    service.engine.recordSchedulerStats({ spec_decoding_stats: { num_drafts: 5, num_draft_tokens: 10 } });
    expect(service.after(8)).toEqual([`debug: ${IDLE}`]);
  });
});
