import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import {
  decodeReadyResponse,
  encodeReadyResponse,
  type EngineCoreReadyResponse,
} from '../../../examples/engine-core-zmq/ready-response.ts';

const READY: EngineCoreReadyResponse = {
  max_model_len: 4096,
  num_gpu_blocks: 256,
  block_size: 16,
  vllm_version: 'simulated',
  data_parallel_rank: 0,
};

describe('a ready response', () => {
  it('comes out as it went in, keys that are not known included', () => {
    const response = { ...READY, dtype: 'bfloat16' };
    expect(decodeReadyResponse(encodeReadyResponse(response))).toEqual(response);
  });

  it.each([
    [null, 'max_model_len of a ready response must be an integer, got undefined'],
    [{ ...READY, num_gpu_blocks: '256' }, 'num_gpu_blocks of a ready response must be an integer, got 256'],
    [{ ...READY, block_size: 0.5 }, 'block_size of a ready response must be an integer, got 0.5'],
  ])('that is none is refused: %j', (response, reason) => {
    expect(() => decodeReadyResponse(encode(response))).toThrow(new TypeError(reason));
  });
});
