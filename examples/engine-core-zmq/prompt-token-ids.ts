import { mix64 } from '../simulated-engine/random.ts';
import type { TextSegment } from '../simulated-engine/token-sequence.ts';

/** As many as a vocabulary of 128 Ki tokens has. */
const TOKEN_BITS = 17;

/** Makes token ids of a text: the same ids for the same text. */
export function tokenIdsOf(prompt: readonly TextSegment[]): readonly number[] {
  return prompt.flatMap(({ content, tokens }) =>
    Array.from({ length: tokens }, (_, position) =>
      Number(BigInt.asUintN(TOKEN_BITS, mix64(content + BigInt(position)))),
    ),
  );
}

/** What token ids are to a simulated engine, which knows texts by their segments. */
export function segmentsOf(tokenIds: readonly number[]): readonly TextSegment[] {
  return tokenIds.map((id) => ({ content: BigInt(id), tokens: 1 }));
}
