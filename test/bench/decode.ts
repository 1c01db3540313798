import { Decoder, encode } from '@msgpack/msgpack';
import { Unpackr } from 'msgpackr';
import { decodeEngineCoreOutputs } from 'opentelemetry-instrumentation-vllm/engine-core';
import type { Candidate } from './harness.ts';

const OUTPUTS = 256;

/** One step of an engine, an output of a token for each of 256 requests, with so many log probabilities each. */
function frameOf(logprobs: number): Buffer {
  const row = [
    Array.from({ length: logprobs }, (_, rank) => rank * 1000),
    Array.from({ length: logprobs }, (_, rank) => rank * -0.37),
    3,
  ];
  const outputs = Array.from({ length: OUTPUTS }, (_, index) => [
    `chatcmpl-0123456789abcdef-${index}`,
    [100_000 + index],
    logprobs === 0 ? null : row,
  ]);
  const stats = { num_running_reqs: OUTPUTS, num_waiting_reqs: 3, kv_cache_usage: 0.5 };
  return Buffer.from(encode([0, outputs, stats, 1234.5]));
}

/**
 * Decoding one step's frame: two MessagePack libraries, which make values of all of it, and this package, which makes
 * them of what metrics need.
 */
export function decodeCandidates(logprobs: number): readonly Candidate[] {
  const frame = frameOf(logprobs);
  const msgpackr = new Unpackr({ mapsAsObjects: true, useRecords: false });
  const msgpack = new Decoder();
  return [
    candidate('msgpackr, everything', () => tokensOf(msgpackr.unpack(frame))),
    candidate('@msgpack/msgpack, everything', () => tokensOf(msgpack.decode(frame))),
    candidate('opentelemetry-instrumentation-vllm/engine-core', () => {
      const { outputs = [] } = decodeEngineCoreOutputs(frame);
      return outputs.reduce((sum, { new_token_ids: tokens }) => sum + (tokens?.length ?? 0), 0);
    }),
  ];
}

function candidate(name: string, decode: () => number): Candidate {
  let tokens = 0;
  return {
    name,
    run: () => {
      tokens += decode();
    },
    counts: async () => ({ tokens }),
  };
}

function tokensOf(message: unknown): number {
  const [, outputs] = message as [number, readonly [string, readonly number[]][]];
  return outputs.reduce((sum, [, tokens]) => sum + tokens.length, 0);
}
