import { FreeQueue, KvBlock } from './kv-block.ts';
import type { TokenSequence } from './token-sequence.ts';

/** The blocks that one request holds, in the order of its tokens. Only the {@link KvCache} writes to it. */
export type BlockTable = KvBlock[];

/**
 * A paged KV cache with prefix reuse. Blocks are counted by reference; a block that nobody holds is free and
 * keeps its content, the least recently used one being overwritten first. Every block is at any time either in
 * the free queue or in at least one block table.
 */
export class KvCache {
  readonly numBlocks: number;
  readonly blockSize: number;
  readonly #free = new FreeQueue();
  readonly #byHash = new Map<bigint, KvBlock>();

  /**
   * @param numBlocks Blocks in the cache.
   * @param blockSize Tokens per block.
   */
  constructor(numBlocks: number, blockSize: number) {
    this.numBlocks = numBlocks;
    this.blockSize = blockSize;
    for (let id = 0; id < numBlocks; id += 1) this.#free.push(new KvBlock(id));
  }

  /** Blocks that no request holds. */
  get numFreeBlocks(): number {
    return this.#free.length;
  }

  /** Held blocks as a ratio of all blocks. */
  get usage(): number {
    return 1 - this.#free.length / this.numBlocks;
  }

  /**
   * The longest run of blocks from the beginning of `sequence` whose content is in the cache. The last token is
   * never among them: computing it is what brings the next one.
   */
  findPrefix(sequence: TokenSequence): readonly KvBlock[] {
    const hashes = sequence.blockHashes();
    const limit = Math.floor((sequence.length - 1) / this.blockSize);
    const prefix: KvBlock[] = [];
    while (prefix.length < limit) {
      const hash = hashes[prefix.length];
      const block = hash === undefined ? undefined : this.#byHash.get(hash);
      if (block === undefined) break;
      prefix.push(block);
    }
    return prefix;
  }

  /**
   * Gives the blocks of `prefix` to the empty `table`, provided that there is room for `tokens` tokens, those of
   * the prefix among them. False, and nothing changed, where there is not.
   */
  admit(table: BlockTable, prefix: readonly KvBlock[], tokens: number): boolean {
    const idle = prefix.filter((block) => block.references === 0);
    const missing = Math.ceil(tokens / this.blockSize) - prefix.length;
    if (missing + idle.length > this.#free.length) return false;
    for (const block of idle) this.#free.remove(block);
    for (const block of prefix) block.references += 1;
    table.push(...prefix);
    return true;
  }

  /**
   * Makes room for the tokens of `sequence` up to `to`, of which those up to `from` have room already, and
   * offers every block that they fill to other requests. False, and nothing changed, where blocks are short.
   */
  grow(table: BlockTable, sequence: TokenSequence, from: number, to: number): boolean {
    const missing = Math.ceil(to / this.blockSize) - table.length;
    if (missing > this.#free.length) return false;
    for (let count = 0; count < missing; count += 1) table.push(this.#take());

    const hashes = sequence.blockHashes();
    for (let index = Math.floor(from / this.blockSize); index < Math.floor(to / this.blockSize); index += 1) {
      const block = table[index];
      const hash = hashes[index];
      if (block === undefined || hash === undefined || this.#byHash.has(hash)) continue;
      block.hash = hash;
      this.#byHash.set(hash, block);
    }
    return true;
  }

  /** Takes all blocks back. */
  release(table: BlockTable): void {
    // From the end, so that the beginning, which others are likelier to share, is overwritten last.
    for (let block = table.pop(); block !== undefined; block = table.pop()) {
      block.references -= 1;
      if (block.references === 0) this.#free.push(block);
    }
  }

  #take(): KvBlock {
    const block = this.#free.shift();
    if (block === undefined) throw new Error('no free block: the caller has to ask for room first');
    if (block.hash !== undefined) this.#byHash.delete(block.hash);
    block.hash = undefined;
    block.references = 1;
    return block;
  }
}
