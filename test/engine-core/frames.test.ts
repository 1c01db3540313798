import { ExtData } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import { encodeFrames, FRAMES, FRAMES_TEXT, hasEncoder } from './frames.ts';

const HEADERS = { traceparent: '00-1f-2e-01' };

const PREFILL = {
  num_prompt_tokens: 100,
  num_computed_tokens: 36,
  num_cached_tokens: 64,
  num_local_cached_tokens: 48,
  num_external_cached_tokens: 16,
};

const EXPECTED: Readonly<Record<string, object>> = {
  'layout A': {
    engine_index: 1,
    outputs: [
      {
        request_id: 'a',
        new_token_ids: { length: 2 },
        events: [
          { type: 1, timestamp: 12.25 },
          { type: 2, timestamp: 12.5 },
        ],
        prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 64 },
      },
      { request_id: 'b', new_token_ids: { length: 0 }, finish_reason: 1 },
      { request_id: 'c', new_token_ids: { length: 1 } },
    ],
    timestamp: 13.5,
  },
  'layout B': {
    engine_index: 300,
    outputs: [
      {
        request_id: 'a',
        new_token_ids: { length: 1 },
        prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 48, num_external_cached_tokens: 16 },
        num_nans_in_logits: 3,
      },
      {
        request_id: 'b',
        new_token_ids: { length: 1 },
        prefill_stats: { num_cached_tokens: 32, num_local_cached_tokens: 32 },
      },
    ],
    timestamp: 13.5,
  },
  'layout C': {
    engine_index: 0,
    outputs: [
      {
        request_id: 'a',
        new_token_ids: { length: 1 },
        prefill_stats: PREFILL,
        trace_headers: HEADERS,
        num_nans_in_logits: 2,
      },
      { request_id: 'b', new_token_ids: { length: 1 } },
    ],
    timestamp: 13.5,
  },
  'layout D': {
    engine_index: 0,
    outputs: [
      {
        request_id: 'a',
        new_token_ids: { length: 1 },
        prefill_stats: PREFILL,
        trace_headers: HEADERS,
        num_nans_in_logits: 1,
      },
      { request_id: 'b', new_token_ids: { length: 1 } },
      {
        request_id: 'c',
        new_token_ids: { length: 0 },
        prefill_stats: {
          num_prompt_tokens: 5,
          num_computed_tokens: 5,
          num_cached_tokens: 0,
          num_local_cached_tokens: 0,
          num_external_cached_tokens: 0,
        },
      },
    ],
    timestamp: 13.5,
  },
  later: {
    engine_index: 0,
    outputs: [
      {
        request_id: `ü-${'x'.repeat(32)}`,
        new_token_ids: { length: 2 },
        finish_reason: 0,
        // Keys that are not known yet are passed on and mean nothing.
        events: [{ type: 3, timestamp: 12.75, reason: 'no free blocks', preempted_by: ['b'] }],
        prefill_stats: { ...PREFILL, num_cache_creation_tokens: 36, num_new: 1 },
        trace_headers: { ...HEADERS, tracestate: 'vendor=1' },
        num_nans_in_logits: 0,
      },
    ],
    timestamp: 13.5,
  },
  numbers: {
    engine_index: 7,
    outputs: [
      {
        request_id: 'a',
        new_token_ids: { length: 0 },
        finish_reason: 4,
        events: [
          { type: 2, timestamp: 12 },
          { type: 3, timestamp: 12.5 },
        ],
        prefill_stats: {
          num_prompt_tokens: 2 ** 53 + 2,
          num_computed_tokens: 36,
          num_cached_tokens: -1,
          num_local_cached_tokens: 0,
          num_external_cached_tokens: 0,
        },
        num_nans_in_logits: 1,
      },
      {
        request_id: 'b',
        new_token_ids: { length: 0 },
        prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 64 },
      },
      {
        request_id: 'c',
        new_token_ids: { length: 0 },
        prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 48, num_external_cached_tokens: 16 },
      },
    ],
    timestamp: 13,
  },
  statistics: {
    engine_index: 2,
    outputs: [],
    scheduler_stats: {
      num_running_reqs: 2,
      // Numbers of 64 bits are bigints, whatever their size.
      num_waiting_reqs: 3n,
      kv_cache_usage: 0.5,
      prefix_cache_stats: { reset: false, queries: 10, hits: -1, hits_by_source: { device: 4 } },
      spec_decoding_stats: { num_drafts: 1, num_accepted_tokens_per_pos: [1, 0] },
      perf_stats: { num_flops_per_gpu: 2n ** 53n + 1n, num_read_bytes_per_gpu: 5n },
      kv_connector_stats: null,
      waiting_lora_adapters: {},
      new: {
        pickle: new ExtData(1, Buffer.from('N.')),
        odd: new ExtData(-1, Buffer.alloc(5)),
        number: 1,
        bigint: 2,
        object: 3,
      },
    },
    timestamp: 13.5,
  },
  'requests let go': { engine_index: 0, outputs: [], timestamp: 13.5, finished_requests: ['a', 'b'] },
  'a utility reply': { engine_index: 0, outputs: [], timestamp: 0 },
  'a wave that is complete': { engine_index: 1, outputs: [], timestamp: 0 },
  'a wave that starts': { engine_index: 1, outputs: [], timestamp: 0 },
  dead: { engine_index: undefined, engine_dead: true },
};

describe('a frame of an encoder that is not ours', () => {
  it.each([...FRAMES])('is decoded to what was put in: %s', (title, frame) => {
    expect(decodeEngineCoreOutputs(frame)).toEqual(EXPECTED[title]);
  });

  it('is decoded without the frames that its tensors lie in', () => {
    const frame = FRAMES.get('later')!;
    expect(decodeEngineCoreOutputs([frame, new Uint8Array(16), new Uint8Array(16)])).toEqual(
      EXPECTED['later'],
    );
  });

  it.runIf(hasEncoder)('is what python3-msgpack writes', () => {
    expect(encodeFrames()).toBe(FRAMES_TEXT);
  });
});
