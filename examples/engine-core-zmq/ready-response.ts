import { decode, encode } from '@msgpack/msgpack';

/** What an engine says of itself when it can take requests, as far as this example needs it. */
export interface EngineCoreReadyResponse {
  /** Longest request, prompt and answer together, in tokens, after fitting to the KV cache. */
  readonly max_model_len: number;
  /** Blocks in the KV cache. */
  readonly num_gpu_blocks: number;
  /** Tokens per block. */
  readonly block_size: number;
  readonly vllm_version: string;
  readonly data_parallel_rank: number;
}

/** Makes the frame that is an engine's first message. */
export function encodeReadyResponse(response: EngineCoreReadyResponse): Uint8Array {
  return encode(response);
}

/** @throws TypeError, or RangeError, where the frame is none. */
export function decodeReadyResponse(frame: Uint8Array): EngineCoreReadyResponse {
  const response = decode(frame) as Partial<EngineCoreReadyResponse> | null;
  for (const name of ['max_model_len', 'num_gpu_blocks', 'block_size'] as const) {
    if (!Number.isSafeInteger(response?.[name])) {
      throw new TypeError(`${name} of a ready response must be an integer, got ${String(response?.[name])}`);
    }
  }
  return response as EngineCoreReadyResponse;
}
