import { describe, expect, it } from 'vitest';
import { parseMooncakeTrace } from '../../../examples/simulated-engine/mooncake-trace.ts';
import { contentOf } from '../../../examples/simulated-engine/token-sequence.ts';
import { TraceError } from '../../../examples/simulated-engine/trace-error.ts';

const ROW = { timestamp: 0, input_length: 600, output_length: 20, hash_ids: [0, 1] };

const parse = (...rows: readonly unknown[]) =>
  parseMooncakeTrace(rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'));

describe('parseMooncakeTrace', () => {
  it('reads arrivals, lengths and the blocks of each prompt, the last of which may be shorter', () => {
    const later = { timestamp: 4500, input_length: 1024, output_length: 1, hash_ids: [0, 7] };
    expect(parse({ ...ROW, timestamp: 3000 }, later, '')).toEqual([
      {
        id: 'request-1',
        arrival: 0,
        prompt: [
          { content: contentOf('block 0'), tokens: 512 },
          { content: contentOf('block 1'), tokens: 88 },
        ],
        outputTokens: 20,
      },
      {
        id: 'request-2',
        arrival: 1.5,
        prompt: [
          { content: contentOf('block 0'), tokens: 512 },
          { content: contentOf('block 7'), tokens: 512 },
        ],
        outputTokens: 1,
      },
    ]);
  });

  it.each([
    ['nothing', [''], 1, 'the trace has no requests'],
    ['what is no JSON', [ROW, '{"timestamp": 0,'], 2, 'expected a JSON object'],
    ['what is no object', ['3'], 1, 'expected a JSON object'],
    ['null', ['null'], 1, 'expected a JSON object'],
    ['no timestamp', [{ ...ROW, timestamp: undefined }], 1, 'timestamp must be an integer of at least 0'],
    ['a negative timestamp', [{ ...ROW, timestamp: -1 }], 1, 'timestamp must be an integer of at least 0'],
    ['a length in text', [{ ...ROW, input_length: '6' }], 1, 'input_length must be an integer of at least 1'],
    ['an empty prompt', [{ ...ROW, input_length: 0 }], 1, 'input_length must be an integer of at least 1'],
    ['an empty answer', [{ ...ROW, output_length: 0 }], 1, 'output_length must be an integer of at least 1'],
    ['half a token', [{ ...ROW, output_length: 1.5 }], 1, 'output_length must be an integer of at least 1'],
    ['no blocks', [{ ...ROW, hash_ids: undefined }], 1, 'hash_ids must be an array of integers'],
    ['blocks with names', [{ ...ROW, hash_ids: ['a', 'b'] }], 1, 'hash_ids must be an array of integers'],
    [
      'a block too few',
      [ROW, '', { ...ROW, hash_ids: [0] }],
      3,
      'an input_length of 600 needs 2 hash_ids, got 1',
    ],
    [
      'a block too many',
      [{ ...ROW, hash_ids: [0, 1, 2] }],
      1,
      'an input_length of 600 needs 2 hash_ids, got 3',
    ],
    [
      'time running backwards',
      [{ ...ROW, timestamp: 5 }, ROW],
      2,
      'the timestamp is before that of the previous request',
    ],
  ])('refuses %s and says where', (_, rows, line, expectation) => {
    expect(() => parse(...rows)).toThrow(new TraceError(line, expectation));
  });
});
