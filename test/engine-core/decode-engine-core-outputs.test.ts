import { encode, ExtData } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';

const PREFILL = {
  num_prompt_tokens: 100,
  num_computed_tokens: 36,
  num_cached_tokens: 64,
  num_local_cached_tokens: 48,
  num_external_cached_tokens: 16,
};

/** One output in a message of its own. */
const withOutput = (output: readonly unknown[]): Uint8Array => encode([0, [output]]);
const decodeOutput = (output: readonly unknown[]): unknown =>
  decodeEngineCoreOutputs(withOutput(output)).outputs![0];

/** Positions 2 to 7 at their defaults. */
const NILS = Array.from({ length: 6 }, () => null);

const HEADERS = { traceparent: 'x' };

/** As many headers; a map's length takes no byte of its own up to 15, and two up to 65,535. */
const headersOf = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`header-${index}`, 'x']));
const MANY = headersOf(16);
const MORE = headersOf(65_536);

describe('a frame', () => {
  it.each([
    ['is a list of one', (frame: Uint8Array) => [frame]],
    ['comes before auxiliary ones, which are left alone', (frame: Uint8Array) => [frame, new Uint8Array(9)]],
    ['lies within a larger buffer', (frame: Uint8Array) => Buffer.concat([Buffer.of(1), frame]).subarray(1)],
  ])('%s', (_, dress) => {
    expect(decodeEngineCoreOutputs(dress(encode([7, []])))).toEqual({ engine_index: 7, outputs: [] });
  });

  it('that says the engine is dead is told apart, with the index the caller knows', () => {
    const dead = Buffer.from('ENGINE_CORE_DEAD');
    expect(decodeEngineCoreOutputs([dead])).toEqual({ engine_dead: true });
    expect(decodeEngineCoreOutputs(dead, { engineIndex: 4 })).toEqual({ engine_index: 4, engine_dead: true });
  });

  it.each([
    ['no position at all', [], {}],
    [
      'positions beyond those known',
      [1, [], null, 2, null, null, null, null, null, 'new', { more: 1 }],
      { engine_index: 1, outputs: [], timestamp: 2 },
    ],
  ])('with %s', (_, message, expected) => {
    expect(decodeEngineCoreOutputs(encode(message))).toEqual(expected);
  });
});

describe('the layout of an output', () => {
  it.each([
    ['A', [null, 64], { prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 64 } }],
    [
      'B',
      [null, HEADERS, 64, 16],
      {
        prefill_stats: { num_cached_tokens: 64, num_local_cached_tokens: 48, num_external_cached_tokens: 16 },
      },
    ],
    ['C', [null, HEADERS, PREFILL], { prefill_stats: PREFILL, trace_headers: HEADERS }],
    ['C without headers', [null, null, PREFILL], { prefill_stats: PREFILL }],
    ['D', [null, { ec: 1 }, HEADERS, PREFILL], { prefill_stats: PREFILL, trace_headers: HEADERS }],
    ['D without headers', [null, { ec: 'x' }, null, PREFILL], { prefill_stats: PREFILL }],
    ['D whatever the EC connector says', [null, PREFILL], {}],
    ['D with many headers', [null, null, MANY, PREFILL], { prefill_stats: PREFILL, trace_headers: MANY }],
    ['D with more headers yet', [null, null, MORE, PREFILL], { prefill_stats: PREFILL, trace_headers: MORE }],
  ])('%s is told by what stands behind position 8', (_, tail, expected) => {
    expect(decodeOutput(['r', [1], ...NILS, ...tail])).toEqual({
      request_id: 'r',
      new_token_ids: { length: 1 },
      ...expected,
    });
  });

  it.each([
    ['a value that is no text', { traceparent: 'x', tracestate: 5 }],
    ['a list', ['traceparent', 'x']],
    ['text', 'traceparent'],
  ])('leaves out trace headers that are none: %s', (_, headers) => {
    expect(decodeOutput(['r', [1], ...NILS, null, null, headers, PREFILL])).toEqual({
      request_id: 'r',
      new_token_ids: { length: 1 },
      prefill_stats: PREFILL,
    });
  });

  it.each<[string, unknown]>([
    ['of the same length', { num_prompt_tokenz: 1, traceparent: 'x' }],
    ['that ends alike', { x_num_prompt_tokens: 1 }],
    ['within a value', { stats: PREFILL }],
    ['of no text', new Map<unknown, unknown>([[5, 'num_prompt_tokens']])],
  ])('takes a map with another key for no prefill statistics: %s', (_, map) => {
    expect(decodeOutput(['r', [1], ...NILS, null, null, map])).toEqual({
      request_id: 'r',
      new_token_ids: { length: 1 },
    });
  });

  it.each([
    ['B', [null, null, 0, 0, null, 3]],
    ['C', [null, null, null, null, 3]],
    ['D', [null, null, null, null, ['dtype', [1], 2], 3]],
  ])('%s has its number of NaNs where that layout puts it', (_, tail) => {
    expect(decodeOutput(['r', [], ...NILS, ...tail])).toMatchObject({ num_nans_in_logits: 3 });
  });

  it('passes over log probabilities, tensors and extension types', () => {
    const logprobs = [
      [Array.from({ length: 20 }, (_, rank) => rank)],
      [-0.5],
      new ExtData(1, Uint8Array.of(0x80, 0x04, 0x4e, 0x2e)),
    ];
    const output = [
      'r',
      [1, 2],
      logprobs,
      new ExtData(2, new Uint8Array(70_000)),
      ['float32', [2], new ExtData(3, new Uint8Array(8))],
      0,
    ];
    expect(decodeOutput(output)).toEqual({ request_id: 'r', new_token_ids: { length: 2 }, finish_reason: 0 });
  });

  it('counts any number of tokens', () => {
    for (const length of [0, 1, 64, 65, 70_000]) {
      const tokens = Array.from({ length }, (_, token) => token);
      expect(decodeOutput(['r', tokens])).toEqual({ request_id: 'r', new_token_ids: { length } });
    }
  });
});
