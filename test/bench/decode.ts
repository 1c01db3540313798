import { Decoder, encode } from '@msgpack/msgpack';
import { Unpackr } from 'msgpackr';
import { decodeEngineCoreOutputs } from 'opentelemetry-instrumentation-vllm/engine-core';
import { OUTPUTS_PER_STEP, requestIds, STATS } from './engine-steps.ts';
import type { Candidate, Work } from './candidate.ts';

/** One step of an engine, an output of a token for each of 256 requests, with so many log probabilities each. */
function frameOf(logprobs: number): Buffer {
  const row = [
    Array.from({ length: logprobs }, (_, rank) => rank * 1000),
    Array.from({ length: logprobs }, (_, rank) => rank * -0.37),
    3,
  ];
  const outputs = requestIds(OUTPUTS_PER_STEP).map((id, index) => [
    id,
    [100_000 + index],
    logprobs === 0 ? null : row,
  ]);
  return Buffer.from(encode([0, outputs, STATS, 1234.5]));
}

/**
 * Decoding one step's frame: two MessagePack libraries, which make values of all of it, and this package, which makes
 * them of what metrics need.
 */
export function decode(logprobs: number): Work {
  const frame = frameOf(logprobs);
  const msgpackr = new Unpackr({ mapsAsObjects: true, useRecords: false });
  const msgpack = new Decoder();
  const each = logprobs === 0 ? '' : ` with ${logprobs} log probabilities each`;
  return {
    title: `Decoding a step of ${OUTPUTS_PER_STEP} outputs${each}`,
    item: 'output',
    itemsPerUnit: OUTPUTS_PER_STEP,
    unitsPerRound: logprobs === 0 ? 500 : 100,
    reference: 'last',
    candidates: [
      () => candidate('msgpackr, everything', () => tokensOf(msgpackr.unpack(frame))),
      () => candidate('@msgpack/msgpack, everything', () => tokensOf(msgpack.decode(frame))),
      () =>
        candidate('this package, /engine-core', () => {
          const { outputs = [] } = decodeEngineCoreOutputs(frame);
          return outputs.reduce((sum, { new_token_ids: tokens }) => sum + (tokens?.length ?? 0), 0);
        }),
    ],
  };
}

function candidate(name: string, decodeFrame: () => number): Candidate {
  let tokens = 0;
  return {
    name,
    run: () => {
      tokens += decodeFrame();
    },
    counts: async () => ({ tokens }),
  };
}

function tokensOf(message: unknown): number {
  const [, outputs] = message as [number, readonly [string, readonly number[]][]];
  return outputs.reduce((sum, [, tokens]) => sum + tokens.length, 0);
}
