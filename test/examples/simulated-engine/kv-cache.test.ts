import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KvBlock } from '../../../examples/simulated-engine/kv-block.ts';
import { KvCache } from '../../../examples/simulated-engine/kv-cache.ts';
import { contentOf, TokenSequence } from '../../../examples/simulated-engine/token-sequence.ts';

const BLOCK_SIZE = 4;

interface Holder {
  readonly sequence: TokenSequence;
  readonly table: KvBlock[];
  tokens: number;
}

let holders = 0;

const createHolder = (...segments: readonly (readonly [name: string, tokens: number])[]): Holder => {
  holders += 1;
  const prompt = segments.map(([name, tokens]) => ({ content: contentOf(name), tokens }));
  const sequence = new TokenSequence(prompt, contentOf(`answer ${holders}`), BLOCK_SIZE);
  return { sequence, table: [], tokens: 0 };
};

const grow = (cache: KvCache, holder: Holder, to: number): boolean => {
  const grown = cache.grow(holder.table, holder.sequence, holder.tokens, to);
  if (grown) holder.tokens = to;
  return grown;
};

/** Gives the holder its prefix and all the rest of its sequence. */
const admit = (cache: KvCache, holder: Holder): boolean => {
  const prefix = cache.findPrefix(holder.sequence);
  if (!cache.admit(holder.table, prefix, holder.sequence.length)) return false;
  holder.tokens = prefix.length * BLOCK_SIZE;
  expect(grow(cache, holder, holder.sequence.length)).toBe(true);
  return true;
};

const ids = (table: readonly KvBlock[]): number[] => table.map(({ id }) => id);

describe('KvCache', () => {
  it('takes as many blocks as the tokens need, the least recently used first', () => {
    const cache = new KvCache(4, BLOCK_SIZE);
    const a = createHolder(['a', 5]);
    expect(admit(cache, a)).toBe(true);
    expect(ids(a.table)).toEqual([0, 1]);
    expect([cache.numFreeBlocks, cache.usage]).toEqual([2, 0.5]);

    cache.release(a.table);
    const b = createHolder(['b', 16]);
    expect(admit(cache, b)).toBe(true);
    expect(ids(b.table)).toEqual([2, 3, 1, 0]);
    expect([cache.numFreeBlocks, cache.usage]).toEqual([0, 1]);
  });

  it('refuses to grow beyond the free blocks and changes nothing', () => {
    const cache = new KvCache(2, BLOCK_SIZE);
    const a = createHolder(['a', 12]);
    expect(grow(cache, a, 8)).toBe(true);
    expect(grow(cache, a, 9)).toBe(false);
    expect(a.table).toHaveLength(2);
    expect(grow(cache, createHolder(['b', 1]), 1)).toBe(false);
  });

  it('shares full blocks with equal beginnings and counts who holds them', () => {
    const cache = new KvCache(8, BLOCK_SIZE);
    const a = createHolder(['system', 8], ['a', 3]);
    const b = createHolder(['system', 8], ['b', 5]);
    admit(cache, a);
    admit(cache, b);
    expect(ids(a.table)).toEqual([0, 1, 2]);
    expect(ids(b.table)).toEqual([0, 1, 3, 4]);
    expect(b.table.map(({ references }) => references)).toEqual([2, 2, 1, 1]);

    cache.release(a.table);
    expect(cache.numFreeBlocks).toBe(4);
    expect(b.table.map(({ references }) => references)).toEqual([1, 1, 1, 1]);
  });

  it.each([
    { tokens: 12, cached: 2 },
    { tokens: 13, cached: 3 },
    { tokens: 4, cached: 0 },
    { tokens: 5, cached: 1 },
  ])(
    'finds $cached of the blocks of $tokens cached tokens: the last token is always left to compute',
    ({ tokens, cached }) => {
      const cache = new KvCache(8, BLOCK_SIZE);
      admit(cache, createHolder(['a', tokens]));
      expect(cache.findPrefix(createHolder(['a', tokens]).sequence)).toHaveLength(cached);
    },
  );

  it('keeps the content of free blocks until they are taken, the end of a text being taken first', () => {
    const cache = new KvCache(4, BLOCK_SIZE);
    const a = createHolder(['a', 12]);
    admit(cache, a);
    cache.release(a.table);
    const again = createHolder(['a', 13]);
    expect(ids(cache.findPrefix(again.sequence))).toEqual([0, 1, 2]);

    admit(cache, createHolder(['b', 8]));
    expect(ids(cache.findPrefix(again.sequence))).toEqual([0, 1]);
  });

  it('counts a cached block that nobody holds as one that admission takes from the free ones', () => {
    const cache = new KvCache(3, BLOCK_SIZE);
    const a = createHolder(['a', 8]);
    admit(cache, a);
    cache.release(a.table);
    const again = createHolder(['a', 13]);
    expect(cache.findPrefix(again.sequence)).toHaveLength(2);
    expect(admit(cache, again)).toBe(false);
    expect(cache.numFreeBlocks).toBe(3);
  });

  it('conserves blocks, counts references right and shares equal beginnings only, whatever is done to it', () => {
    const segment = fc.tuple(fc.constantFrom('system', 'tool', 'x', 'y'), fc.integer({ min: 1, max: 11 }));
    const command = fc.oneof(
      fc.record({
        kind: fc.constant('admit' as const),
        prompt: fc.array(segment, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('append' as const), who: fc.nat() }),
      fc.record({ kind: fc.constant('release' as const), who: fc.nat() }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(command, { maxLength: 60 }),
        (numBlocks, commands) => {
          const cache = new KvCache(numBlocks, BLOCK_SIZE);
          const live: Holder[] = [];
          for (const next of commands) {
            const before = cache.numFreeBlocks;
            if (next.kind === 'admit') {
              const holder = createHolder(...next.prompt);
              if (admit(cache, holder)) live.push(holder);
              else expect([holder.table.length, cache.numFreeBlocks]).toEqual([0, before]);
            } else if (live.length > 0) {
              const index = next.who % live.length;
              const holder = live[index]!;
              if (next.kind === 'release') {
                cache.release(holder.table);
                live.splice(index, 1);
              } else {
                holder.sequence.append();
                const grown = grow(cache, holder, holder.tokens + 1);
                expect(grown || cache.numFreeBlocks === before).toBe(true);
              }
            }
            expectSound(cache, live);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

function expectSound(cache: KvCache, live: readonly Holder[]): void {
  const held = new Map<KvBlock, number>();
  const contents = new Map<KvBlock, bigint>();
  for (const { table, sequence, tokens } of live) {
    expect(table).toHaveLength(Math.ceil(tokens / BLOCK_SIZE));
    expect(new Set(table).size).toBe(table.length);
    for (const [index, block] of table.entries()) {
      held.set(block, (held.get(block) ?? 0) + 1);
      const content = sequence.blockHashes()[index];
      if ((index + 1) * BLOCK_SIZE > tokens || content === undefined) continue;
      expect(contents.get(block) ?? content).toBe(content);
      contents.set(block, content);
    }
  }
  for (const [block, count] of held) expect(block.references).toBe(count);
  expect(cache.numFreeBlocks + held.size).toBe(cache.numBlocks);
}
