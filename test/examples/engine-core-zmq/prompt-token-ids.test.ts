import { describe, expect, it } from 'vitest';
import { segmentsOf, tokenIdsOf } from '../../../examples/engine-core-zmq/prompt-token-ids.ts';
import {
  contentOf,
  TokenSequence,
  type TextSegment,
} from '../../../examples/simulated-engine/token-sequence.ts';

const system: TextSegment = { content: contentOf('system'), tokens: 40 };
const question = (name: string, tokens: number): TextSegment => ({ content: contentOf(name), tokens });

const hashes = (prompt: readonly TextSegment[]): readonly bigint[] =>
  new TokenSequence(prompt, 0n, 16).blockHashes();

/** How many blocks two lists begin with in common. */
const inCommon = (one: readonly bigint[], other: readonly bigint[]): number => {
  const first = one.findIndex((hash, index) => hash !== other[index]);
  return first === -1 ? one.length : first;
};

describe('token ids of a prompt', () => {
  it('are as many as the prompt has tokens, differ, and lie within a vocabulary', () => {
    const ids = tokenIdsOf([system, question('a', 1000)]);
    expect(ids).toHaveLength(1040);
    expect(ids.filter((id) => Number.isInteger(id) && id >= 0 && id < 131_072)).toHaveLength(1040);
    expect(new Set(ids).size).toBeGreaterThan(1000);
  });

  it.each([
    ['a common beginning', [system, question('a', 100)], [system, question('b', 100)], 2],
    ['a shorter one', [question('a', 100)], [question('a', 50)], 3],
    ['nothing in common', [question('a', 100)], [question('b', 100)], 0],
  ])('make the same blocks reusable as the text does: %s', (_, one, other, blocks) => {
    expect(inCommon(hashes(one), hashes(other))).toBe(blocks);
    expect(inCommon(hashes(segmentsOf(tokenIdsOf(one))), hashes(segmentsOf(tokenIdsOf(other))))).toBe(blocks);
  });
});
