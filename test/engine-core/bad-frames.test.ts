import assert from 'node:assert/strict';
import { encode, ExtData } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import { EngineCoreDecodeError } from '../../src/engine-core/engine-core-decode-error.ts';
import type { EngineCoreOutputs } from '../../src/engine/messages.ts';
import { FRAMES, fromHex } from './frames.ts';

/** Positions 2 to 6 at their defaults. */
const NILS: readonly unknown[] = Array.from({ length: 5 }, () => null);

/** Where an error may be: a position of the message, or of what it holds. */
const POSITION = /^(message|engine_index|outputs|scheduler_stats|timestamp|finished_requests)(\b|\[|$)/;

/** The message, or the error where it is the one that may be thrown. Whatever comes is what its type says. */
function decodeOrError(frames: unknown): EngineCoreOutputs | EngineCoreDecodeError {
  let message: EngineCoreOutputs;
  try {
    message = decodeEngineCoreOutputs(frames as Uint8Array);
  } catch (error) {
    if (!(error instanceof EngineCoreDecodeError)) throw error;
    assert.match(error.position, POSITION);
    assert.equal(error.message, `${error.position}: ${error.expected}`);
    return error;
  }
  assertTypes(message);
  return message;
}

function assertTypes(message: EngineCoreOutputs): void {
  const { engine_index: index, outputs, scheduler_stats: stats, timestamp, finished_requests: ids } = message;
  assert.equal(typeof (index ?? 0), 'number');
  assert.equal(typeof (timestamp ?? 0), 'number');
  assert.equal(typeof (stats ?? {}), 'object');
  for (const id of ids ?? []) assert.equal(typeof id, 'string');
  for (const output of outputs ?? []) {
    assert.equal(typeof output.request_id, 'string');
    assert(Number.isSafeInteger(output.new_token_ids?.length ?? 0));
    assert.equal(typeof (output.finish_reason ?? 0), 'number');
    assert.equal(typeof (output.num_nans_in_logits ?? 0), 'number');
    assert(Array.isArray(output.events ?? []));
    assert.equal(typeof (output.prefill_stats ?? {}), 'object');
    for (const value of Object.values(output.trace_headers ?? {})) assert.equal(typeof value, 'string');
  }
}

/** One value of every kind there is on the wire. */
const KINDS: readonly (readonly [kind: string, value: unknown])[] = [
  ['nil', null],
  ['true', true],
  ['a number', 3],
  ['a negative number', -1],
  ['2^64 - 1', 2n ** 64n - 1n],
  ['-2^63', -(2n ** 63n)],
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['text', 'text'],
  ['bytes', Uint8Array.of(1)],
  ['an extension', new ExtData(1, Uint8Array.of(0x4e, 0x2e))],
  ['an empty list', []],
  ['a list', [1, 'text', null]],
  ['an empty map', {}],
  ['a map', { num_prompt_tokens: 'many', type: [] }],
];

const PREFILL = { num_prompt_tokens: 100, num_computed_tokens: 36, num_cached_tokens: 64 };

/** A message, and an output, with every position there is and one more. */
const MESSAGE: readonly unknown[] = [
  0,
  [['r']],
  { num_running_reqs: 1 },
  1,
  null,
  ['r'],
  null,
  null,
  null,
  null,
];
const OUTPUT: readonly unknown[] = [
  'r',
  [1],
  ...NILS,
  [],
  null,
  null,
  { traceparent: 'x' },
  PREFILL,
  ...NILS,
  null,
];

type Place = readonly [place: string, message: (value: unknown) => unknown];

/** Messages of which one place holds a value. */
const PLACES: readonly Place[] = [
  ['the message', (value) => value],
  ...MESSAGE.map((_, at): Place => [`message[${at}]`, (value) => MESSAGE.with(at, value)]),
  ['an output', (value) => [0, [['a'], value, ['b']]]],
  ...OUTPUT.map((_, at): Place => [`output[${at}]`, (value) => [0, [OUTPUT.with(at, value)]]]),
  ['a token', (value) => [0, [['r', [1, value]]]]],
  ['an event', (value) => [0, [['r', [], ...NILS, [{ type: 1, timestamp: 2 }, value]]]]],
  ['the type of an event', (value) => [0, [['r', [], ...NILS, [{ type: value, timestamp: 2 }]]]]],
  [
    'a prefill statistic',
    (value) => [0, [['r', [], ...NILS, ...NILS.with(4, { num_prompt_tokens: value })]]],
  ],
  ['a scheduler statistic', (value) => [0, [], { num_running_reqs: value }]],
  ['an id among those let go', (value) => [0, [], null, 1, null, ['a', value]]],
];

describe('a frame that is not what an engine sends', () => {
  it.each<[string, unknown, position: string, expected: string]>([
    ['a map', { engine_index: 0 }, 'message', 'must be an array, is map'],
    ['an engine index of text', ['0'], 'engine_index', 'must be a number, is string'],
    ['no engine index', [null], 'engine_index', 'must be a number, is nil'],
    ['outputs that are a number', [0, 5], 'outputs', 'must be an array, is number'],
    ['an output that is text', [0, [['r'], 'r']], 'outputs[1]', 'must be an array, is string'],
    ['an empty output', [0, [[]]], 'outputs[0]', 'must have a request_id'],
    ['an id that is a number', [0, [['r'], [5]]], 'outputs[1].request_id', 'must be a string, is number'],
    ['an id that is true', [0, [[true]]], 'outputs[0].request_id', 'must be a string, is 0xc3'],
    ['tokens that are text', [0, [['r', 'abc']]], 'outputs[0].new_token_ids', 'must be an array, is string'],
    [
      'a finish reason of text',
      [0, [['r', [], null, null, null, 'stop']]],
      'outputs[0].finish_reason',
      'must be a number, is string',
    ],
    ['events that are a map', [0, [['r', [], ...NILS, {}]]], 'outputs[0].events', 'must be an array, is map'],
    [
      'prefill statistics that hold what no map may',
      [0, [['r', [], ...NILS, null, null, null, null, { num_prompt_tokens: 1, ['__proto__']: 1 }]]],
      'outputs[0][11]',
      'The key __proto__ is not allowed',
    ],
    [
      'trace headers that hold what no map may',
      [0, [['r', [], ...NILS, null, null, null, { ['__proto__']: 1 }, PREFILL]]],
      'outputs[0][10]',
      'The key __proto__ is not allowed',
    ],
    ['statistics that are a list', [0, [], [1]], 'scheduler_stats', 'must be a map, is array'],
    ['a timestamp of text', [0, [], null, 'now'], 'timestamp', 'must be a number, is string'],
    [
      'finished requests of numbers',
      [0, [], null, 0, null, ['r', 1]],
      'finished_requests[1]',
      'must be a string, is number',
    ],
  ])('%s gives one error that says where', (_, message, position, expected) => {
    expect(() => decodeEngineCoreOutputs(encode(message))).toThrow(
      new EngineCoreDecodeError(position, expected),
    );
  });

  it('holding anything at any place is read as its types say, or refused', () => {
    for (const [place, message] of PLACES) {
      for (const [kind, value] of KINDS) {
        const frame = encode(message(value), { useBigInt64: true });
        expect(() => decodeOrError(frame), `${kind} as ${place}`).not.toThrow();
      }
    }
  });

  it.each([...FRAMES])('cut off at any byte is refused: %s', (_, frame) => {
    for (let end = 0; end < frame.length; end += 1) {
      expect(decodeOrError(frame.subarray(0, end))).toBeInstanceOf(EngineCoreDecodeError);
    }
  });

  it.each([
    ['nothing', '', 'message'],
    ['the length of a list', '92 00 dc 00', 'outputs'],
    ['a number', '91 cd 01', 'engine_index'],
    ['a text', '92 00 91 91 a5 61 62', 'outputs[0].request_id'],
    ['the length of a text', '92 00 91 91 da 00', 'outputs[0].request_id'],
    ['bytes that are passed over', '92 00 91 93 a1 72 90 c4 05 00', 'outputs[0].new_logprobs'],
    ['values that are passed over', '92 00 91 93 a1 72 90 93 00 00', 'outputs[0].new_logprobs'],
    ['statistics', '93 00 90 81 a1 78 92 00', 'scheduler_stats'],
    [
      'a key of what may be prefill statistics',
      `92 00 91 9b a1 72 90 ${'c0'.repeat(8)} 81 a5 61`,
      'outputs[0][10]',
    ],
  ])('that ends within %s says so', (_, hex, position) => {
    expect(() => decodeEngineCoreOutputs(fromHex([hex]))).toThrow(
      new EngineCoreDecodeError(position, 'the frame ends within it'),
    );
  });

  it.each([...FRAMES])('with bytes behind its end is refused: %s', (title, frame) => {
    expect(() => decodeEngineCoreOutputs(Buffer.concat([frame, Buffer.of(0)]))).toThrow(
      title === 'dead' ? EngineCoreDecodeError : 'message: has bytes behind its end',
    );
  });

  it.each([...FRAMES])('with any bit turned is read as its types say, or refused: %s', (_, frame) => {
    const turnEach = (): void => {
      for (let bit = 0; bit < 8 * frame.length; bit += 1) {
        const turned = Buffer.from(frame);
        turned[bit >> 3]! ^= 1 << (bit & 7);
        decodeOrError(turned);
      }
    };
    expect(turnEach).not.toThrow();
  });

  it('of any bytes is read as its types say, or refused', () => {
    // Most arrays would not begin as a message does.
    const bytes = fc.tuple(
      fc.constantFrom('', '94 00', '92 00 91', '92 00 91 9e a1 61 90', '93 00 90 8f'),
      fc.uint8Array(),
    );
    fc.assert(
      fc.property(bytes, ([beginning, rest]) => {
        decodeOrError(Buffer.concat([fromHex([beginning]), rest]));
      }),
      { numRuns: 5000 },
    );
  });

  it.each<[string, string]>([
    ['4,294,967,295 positions', 'dd ff ff ff ff'],
    ['4,294,967,295 outputs', '92 00 dd ff ff ff ff'],
    ['200,000 lists in each other', `92 00 91 93 a1 72 90 ${'91'.repeat(200_000)}`],
    ['a map of 4,294,967,295', '93 00 90 df ff ff ff ff'],
    ['a text of 4 GiB', '92 00 91 92 87 a1 61 db ff ff ff ff'],
    [
      'a map of 4,294,967,295 where prefill statistics stand',
      `92 00 91 9b a1 61 90 ${'c0'.repeat(8)} df ff ff ff ff`,
    ],
  ])('whose header claims more than there is costs neither memory nor stack: %s', (_, claim) => {
    expect(decodeOrError(fromHex([claim]))).toBeInstanceOf(EngineCoreDecodeError);
  });

  it('nests statistics 32 levels deep and no deeper, whatever the library would keep of them', () => {
    const nested = (levels: number): Uint8Array =>
      fromHex(['93 00 90 81 a1 78', '91'.repeat(levels - 1), '00']);
    expect(decodeEngineCoreOutputs(nested(32)).scheduler_stats).toBeDefined();
    expect(() => decodeEngineCoreOutputs(nested(33))).toThrow(
      'scheduler_stats: is nested deeper than 32 levels',
    );
    const events = fromHex([`92 00 91 98 a1 72 90 ${'c0'.repeat(5)}`, '91'.repeat(1_000_000), '00']);
    expect(() => decodeEngineCoreOutputs(events)).toThrow(
      'outputs[0].events: is nested deeper than 32 levels',
    );
  });
});

describe('what is no frame', () => {
  it.each<[string, unknown]>([
    ['no frame', []],
    ['undefined', undefined],
    ['text', 'frame'],
    ['a list of text', ['frame']],
  ])('is refused: %s', (_, frames) => {
    expect(() => decodeEngineCoreOutputs(frames as Uint8Array)).toThrow(
      'message: must be a frame of bytes, or a list of them',
    );
  });

  it('is refused where its memory was transferred away', () => {
    const frame = new Uint8Array(encode([7]));
    structuredClone(frame.buffer, { transfer: [frame.buffer] });
    expect(decodeOrError(frame)).toBeInstanceOf(EngineCoreDecodeError);
  });

  it('is refused where it cannot even be looked at', () => {
    const { proxy, revoke } = Proxy.revocable([new Uint8Array(1)], {});
    revoke();
    expect(decodeOrError(proxy)).toBeInstanceOf(EngineCoreDecodeError);
  });

  it('is refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (frames) => {
        expect(decodeOrError(frames)).toBeInstanceOf(EngineCoreDecodeError);
      }),
      { numRuns: 1000 },
    );
  });
});
