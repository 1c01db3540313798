import { describe, expect, it } from 'vitest';
import {
  contentOf,
  countTokens,
  type TextSegment,
  TokenSequence,
} from '../../../examples/simulated-engine/token-sequence.ts';

const text = (name: string, tokens: number): TextSegment => ({ content: contentOf(name), tokens });

const hashes = (prompt: readonly TextSegment[], appended = 0, output = 'answer'): readonly bigint[] => {
  const sequence = new TokenSequence(prompt, contentOf(output), 4);
  for (let count = 0; count < appended; count += 1) sequence.append();
  return sequence.blockHashes();
};

describe('TokenSequence', () => {
  it('counts the tokens of the prompt and of what was appended', () => {
    const prompt = [text('a', 5), text('b', 2)];
    const sequence = new TokenSequence(prompt, 0n, 4);
    sequence.append();
    expect([countTokens(prompt), sequence.length]).toEqual([7, 8]);
  });

  it('hashes full blocks only', () => {
    expect([3, 4, 7, 8].map((tokens) => hashes([text('a', tokens)]).length)).toEqual([0, 1, 1, 2]);
  });

  it('gives equal hashes to equal beginnings, however long the texts are', () => {
    const short = hashes([text('system', 8), text('a', 4)]);
    const long = hashes([text('system', 8), text('b', 9)]);
    expect(long.slice(0, 2)).toEqual(short.slice(0, 2));
    expect(long[2]).not.toBe(short[2]);
  });

  it('tells equal texts after different beginnings apart', () => {
    const [, one] = hashes([text('a', 4), text('same', 4)]);
    const [, other] = hashes([text('b', 4), text('same', 4)]);
    expect(one).not.toBe(other);
  });

  it('tells texts apart that differ only in where one of them goes over into the next', () => {
    expect(hashes([text('a', 3), text('b', 1)])).not.toEqual(hashes([text('a', 2), text('b', 2)]));
    expect(hashes([text('a', 4), text('a', 4)])).not.toEqual(hashes([text('a', 8)]));
  });

  it('hashes what was appended with the prompt it follows', () => {
    expect(hashes([text('a', 6)], 6)).toHaveLength(3);
    expect(hashes([text('a', 6)], 6)).toEqual(hashes([text('a', 6), text('answer', 6)]));
    expect(hashes([text('a', 6)], 6, 'one')).not.toEqual(hashes([text('a', 6)], 6, 'other'));
  });

  it('keeps the hashes it has given when more is appended', () => {
    const sequence = new TokenSequence([text('a', 7)], 1n, 4);
    const first = [...sequence.blockHashes()];
    sequence.append();
    expect(sequence.blockHashes().slice(0, 1)).toEqual(first);
    expect(sequence.blockHashes()).toHaveLength(2);
  });
});
