import { mix64 } from './random.ts';

/** A stretch of text. Two stretches with the same `content` have the same tokens, as far as the shorter one goes. */
export interface TextSegment {
  /** Names the text, see {@link contentOf}. */
  readonly content: bigint;
  /** Length in tokens, at least 1. */
  readonly tokens: number;
}

/** The content of the text that goes by this name: FNV-1a, 64 bits. */
export function contentOf(name: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < name.length; index += 1) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(name.charCodeAt(index))) * 0x100000001b3n);
  }
  return hash;
}

/** Length of a text in tokens. */
export function countTokens(text: readonly TextSegment[]): number {
  return text.reduce((total, segment) => total + segment.tokens, 0);
}

/**
 * The tokens of one request, prompt and output, cut into blocks. No token is ever made: a block is known by a
 * hash chained over everything before it, so two blocks have the same hash exactly when their texts are the
 * same from the very beginning, which is when one request can use the other's KV cache.
 */
export class TokenSequence {
  readonly #prompt: readonly TextSegment[];
  readonly #output: TextSegment;
  readonly #blockSize: number;
  readonly #hashes: bigint[] = [];
  #length: number;
  #hashedSegments = 0;
  #hashedTokens = 0;

  /**
   * @param prompt The text to start from.
   * @param output Content of all that {@link append} adds.
   * @param blockSize Tokens per block.
   */
  constructor(prompt: readonly TextSegment[], output: bigint, blockSize: number) {
    this.#prompt = prompt;
    this.#output = { content: output, tokens: Infinity };
    this.#blockSize = blockSize;
    this.#length = countTokens(prompt);
  }

  /** Tokens so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds one generated token. */
  append(): void {
    this.#length += 1;
  }

  /** The hashes of all full blocks, in order; a trailing block that is not full has none. */
  blockHashes(): readonly bigint[] {
    while ((this.#hashes.length + 1) * this.#blockSize <= this.#length)
      this.#hashes.push(this.#hashNextBlock());
    return this.#hashes;
  }

  #hashNextBlock(): bigint {
    let hash = this.#hashes.at(-1) ?? 0n;
    for (let missing = this.#blockSize; missing > 0;) {
      const { content, tokens } = this.#prompt[this.#hashedSegments] ?? this.#output;
      const taken = Math.min(missing, tokens - this.#hashedTokens);
      hash = mix64(mix64(hash + content) + BigInt(this.#hashedTokens * (this.#blockSize + 1) + taken));
      missing -= taken;
      this.#hashedTokens += taken;
      if (this.#hashedTokens === tokens) {
        this.#hashedSegments += 1;
        this.#hashedTokens = 0;
      }
    }
    return hash;
  }
}
