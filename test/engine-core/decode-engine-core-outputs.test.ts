import { encode, ExtData } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import { EngineCoreDecodeError } from '../../src/engine-core/engine-core-decode-error.ts';

/** A frame of hexadecimal bytes, each line with what it is. */
function bytes(lines: readonly string[]): Uint8Array {
  return Buffer.from(lines.map((line) => line.replace(/;.*/, '').replaceAll(/\s/g, '')).join(''), 'hex');
}

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

/** Positions 2 to 8 at their defaults. */
const NILS = Array.from({ length: 7 }, () => null);

describe('a frame', () => {
  it('written out byte by byte is read position by position', () => {
    const frame = bytes([
      '94            ; array of 4: EngineCoreOutputs',
      '  cd 01 2c    ; engine_index 300',
      '  91          ; outputs, 1',
      '    98        ; EngineCoreOutput, 8 positions',
      '      a3 61 2d 31                   ; request_id "a-1"',
      '      92 07 ce 00 01 86 a0          ; new_token_ids [7, 100000]',
      '      c0 c0 c0                      ; logprobs, prompt logprobs, pooling: nil',
      '      01                            ; finish_reason length',
      '      c0                            ; stop_reason nil',
      '      91 82                         ; events: one map of 2',
      '        a4 74 79 70 65 03           ; type 3, PREEMPTED',
      '        a9 74 69 6d 65 73 74 61 6d 70 cb 40 28 80 00 00 00 00 00 ; timestamp 12.25',
      '  81          ; scheduler_stats: map of 1',
      '    b0 6e 75 6d 5f 72 75 6e 6e 69 6e 67 5f 72 65 71 73 02 ; num_running_reqs 2',
      '  cb 40 29 00 00 00 00 00 00        ; timestamp 12.5',
    ]);
    expect(decodeEngineCoreOutputs(frame)).toEqual({
      engine_index: 300,
      outputs: [
        {
          request_id: 'a-1',
          new_token_ids: { length: 2 },
          finish_reason: 1,
          events: [{ type: 3, timestamp: 12.25 }],
        },
      ],
      scheduler_stats: { num_running_reqs: 2 },
      timestamp: 12.5,
    });
  });

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
    [
      'finished requests',
      [0, null, null, 1.5, null, ['a', 'b']],
      { engine_index: 0, timestamp: 1.5, finished_requests: ['a', 'b'] },
    ],
    [
      'a utility reply',
      [0, [], null, 0, [1, null, 'result']],
      { engine_index: 0, outputs: [], timestamp: 0 },
    ],
    [
      'a wave that is complete',
      [2, [], null, 0, null, null, 5],
      { engine_index: 2, outputs: [], timestamp: 0 },
    ],
  ])('with %s', (_, message, expected) => {
    expect(decodeEngineCoreOutputs(encode(message))).toEqual(expected);
  });

  it('keeps integers beyond 2^53 in statistics exact', () => {
    const frame = encode([0, [], { perf_stats: { num_read_bytes_per_gpu: 2n ** 53n + 1n } }], {
      useBigInt64: true,
    });
    expect(decodeEngineCoreOutputs(frame).scheduler_stats).toEqual({
      perf_stats: { num_read_bytes_per_gpu: 9_007_199_254_740_993n },
    });
  });
});

describe('the layout of an output', () => {
  it.each([
    ['A', [null, 64], { num_cached_tokens: 64, num_local_cached_tokens: 64 }],
    [
      'B',
      [null, { traceparent: 'x' }, 64, 16],
      { num_cached_tokens: 64, num_local_cached_tokens: 48, num_external_cached_tokens: 16 },
    ],
    ['C', [null, { traceparent: 'x' }, PREFILL], PREFILL],
    ['D', [null, { ec: 1 }, { traceparent: 'x' }, PREFILL], PREFILL],
    ['D without headers', [null, null, null, PREFILL], PREFILL],
  ])('%s is told by what stands behind position 8', (_, tail, expected) => {
    expect(decodeOutput(['r', [1], ...NILS.slice(0, 6), ...tail])).toEqual({
      request_id: 'r',
      new_token_ids: { length: 1 },
      prefill_stats: expected,
    });
  });

  it.each([
    ['B', [null, null, 0, 0, null, 3]],
    ['C', [null, null, null, null, 3]],
    ['D', [null, null, null, null, ['dtype', [1], 2], 3]],
  ])('%s has its number of NaNs where that layout puts it', (_, tail) => {
    expect(decodeOutput(['r', [], ...NILS.slice(0, 6), ...tail])).toMatchObject({ num_nans_in_logits: 3 });
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

describe('a frame that is not what an engine sends', () => {
  it.each<[string, unknown, string]>([
    ['a map', { engine_index: 0 }, 'message: must be an array, is map'],
    ['an engine index of text', ['0'], 'engine_index: must be a number, is string'],
    ['outputs that are a number', [0, 5], 'outputs: must be an array, is integer'],
    ['an output that is text', [0, ['r']], 'outputs[0]: must be an array, is string'],
    ['an empty output', [0, [[]]], 'outputs[0]: must have a request_id'],
    [
      'a second output without an id',
      [0, [['r'], [5]]],
      'outputs[1].request_id: must be a string, is integer',
    ],
    ['tokens that are text', [0, [['r', 'abc']]], 'outputs[0].new_token_ids: must be an array, is string'],
    [
      'a finish reason of text',
      [0, [['r', [], null, null, null, 'stop']]],
      'outputs[0].finish_reason: must be a number, is string',
    ],
    [
      'events that are a map',
      [0, [['r', [], ...NILS.slice(0, 5), {}]]],
      'outputs[0].events: must be an array, is map',
    ],
    ['statistics that are a list', [0, [], [1]], 'scheduler_stats: must be a map, is array'],
    ['a timestamp of text', [0, [], null, 'now'], 'timestamp: must be a number, is string'],
    [
      'finished requests of numbers',
      [0, [], null, 0, null, [1]],
      'finished_requests[0]: must be a string, is integer',
    ],
  ])('%s gives one error that says where', (_, message, expected) => {
    expect(() => decodeEngineCoreOutputs(encode(message))).toThrow(
      new EngineCoreDecodeError(...split(expected)),
    );
  });

  it.each<[string, unknown]>([
    ['no frame', []],
    ['undefined', undefined],
    ['text', 'frame'],
    ['a list of text', ['frame']],
  ])('%s is refused', (_, frames) => {
    expect(() => decodeEngineCoreOutputs(frames as Uint8Array)).toThrow(
      'message: must be a frame of bytes, or a list of them',
    );
  });

  it('cut off at any byte is refused, and so is one with bytes behind its end', () => {
    const frame = encode([
      0,
      [
        [
          'r',
          [1, 2],
          [[1.5], 'x'],
          null,
          null,
          0,
          null,
          [{ type: 1, timestamp: 2 }],
          null,
          null,
          null,
          PREFILL,
        ],
      ],
      { num_running_reqs: 1 },
      3.5,
      null,
      ['r'],
    ]);
    for (let end = 0; end < frame.length; end += 1) {
      expect(() => decodeEngineCoreOutputs(frame.subarray(0, end))).toThrow(EngineCoreDecodeError);
    }
    expect(() => decodeEngineCoreOutputs(Buffer.concat([frame, Buffer.of(0)]))).toThrow(
      'message: has bytes behind its end',
    );
  });

  it('whose headers claim more than there is costs neither memory nor stack', () => {
    const claims = [
      'dd ff ff ff ff',
      '92 00 dd ff ff ff ff',
      `9200${'91'.repeat(200_000)}`,
      '93 00 90 df ff ff ff ff',
      '9200919287a161dbffffffff',
    ];
    for (const claim of claims) {
      expect(() => decodeEngineCoreOutputs(bytes([claim]))).toThrow(EngineCoreDecodeError);
    }
  });

  it('of any bytes is read or refused, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (frame) => {
        try {
          decodeEngineCoreOutputs(frame);
        } catch (error) {
          expect(error).toBeInstanceOf(EngineCoreDecodeError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

function split(message: string): [position: string, expected: string] {
  const at = message.indexOf(': ');
  return [message.slice(0, at), message.slice(at + 2)];
}
