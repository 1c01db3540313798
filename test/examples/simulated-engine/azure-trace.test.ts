import { describe, expect, it } from 'vitest';
import { parseAzureTrace } from '../../../examples/simulated-engine/azure-trace.ts';
import { contentOf } from '../../../examples/simulated-engine/token-sequence.ts';
import { TraceError } from '../../../examples/simulated-engine/trace-error.ts';

const HEADER = 'TIMESTAMP,ContextTokens,GeneratedTokens';
const ROW = '2023-11-16 18:17:03.9799600,4808,10';

const parse = (...lines: readonly string[]) => parseAzureTrace(lines.join('\n'));

describe('parseAzureTrace', () => {
  it('reads arrivals to 100 nanoseconds, from the first one on, and both lengths', () => {
    const [first, second] = parse(HEADER, ROW, '2023-11-16 18:17:04.0319601,3180,8', '');
    expect(first).toEqual({
      id: 'request-1',
      arrival: 0,
      prompt: [{ content: contentOf('prompt of request-1'), tokens: 4808 }],
      outputTokens: 10,
    });
    expect(second).toMatchObject({ prompt: [{ tokens: 3180 }], outputTokens: 8 });
    expect(second?.arrival).toBeCloseTo(0.0520001, 12);
  });

  it('lets no two prompts begin alike', () => {
    const requests = parse(HEADER, ROW, ROW);
    expect(new Set(requests.map(({ prompt }) => prompt[0]?.content)).size).toBe(2);
  });

  it.each([
    ['times without a fraction', '2023-11-16 18:17:05,1,1'],
    ['times of the same instant', ROW],
    ['midnight', '2023-11-17 00:00:00.0000000,1,1'],
  ])('takes %s', (_, row) => {
    expect(parse(HEADER, ROW, row)).toHaveLength(2);
  });

  it('takes lines that end in a carriage return', () => {
    expect(parseAzureTrace(`${HEADER}\r\n${ROW}\r\n`)).toHaveLength(1);
  });

  const example = 'expected a row like 2023-11-16 18:17:03.9799600,4808,10';
  it.each([
    ['nothing', [''], 1, `expected the header ${HEADER}`],
    ['another header', ['TIMESTAMP,ContextTokens', ROW], 1, `expected the header ${HEADER}`],
    ['no request', [HEADER, ''], 2, 'the trace has no requests'],
    ['a column too few', [HEADER, ROW, '2023-11-16 18:17:04.0,1'], 3, example],
    ['a column too many', [HEADER, `${ROW},5`], 2, example],
    ['a number that is none', [HEADER, '2023-11-16 18:17:04.0,1x,1'], 2, example],
    ['a negative number', [HEADER, '2023-11-16 18:17:04.0,-1,1'], 2, example],
    ['a fraction of a token', [HEADER, '2023-11-16 18:17:04.0,1.5,1'], 2, example],
    ['a time that does not exist', [HEADER, '2023-13-16 18:17:04.0,1,1'], 2, example],
    ['a time in another form', [HEADER, '1700158623,1,1'], 2, example],
    ['an empty prompt', [HEADER, '2023-11-16 18:17:04.0,0,1'], 2, 'ContextTokens must be at least 1'],
    ['an empty answer', [HEADER, '2023-11-16 18:17:04.0,1,0'], 2, 'GeneratedTokens must be at least 1'],
    [
      'time running backwards',
      [HEADER, ROW, '', '2023-11-16 18:17:03.9799599,1,1'],
      4,
      'the timestamp is before that of the previous request',
    ],
  ])('refuses %s and says where', (_, lines, line, expectation) => {
    expect(() => parse(...lines)).toThrow(new TraceError(line, expectation));
  });
});
