import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FreeQueue, KvBlock } from '../../../examples/simulated-engine/kv-block.ts';

describe('FreeQueue', () => {
  it('gives blocks in the order in which they came, those apart that were taken out of it meanwhile', () => {
    const queue = new FreeQueue();
    const blocks = Array.from({ length: 6 }, (_, id) => new KvBlock(id));
    for (const block of blocks) queue.push(block);
    for (const index of [2, 0, 5]) queue.remove(blocks[index]!);
    expect(queue.length).toBe(3);
    expect(Array.from({ length: 4 }, () => queue.shift()?.id)).toEqual([1, 3, 4, undefined]);
    expect(queue.length).toBe(0);
  });

  it('is a list from which any element can be taken, whatever is done to it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 60 }), (picks) => {
        const queue = new FreeQueue();
        const blocks = Array.from({ length: 8 }, (_, id) => new KvBlock(id));
        const model: KvBlock[] = [];
        for (const pick of picks) {
          const block = blocks[pick]!;
          const index = model.indexOf(block);
          if (index === -1) {
            queue.push(block);
            model.push(block);
          } else {
            queue.remove(block);
            model.splice(index, 1);
          }
          expect(queue.length).toBe(model.length);
        }
        expect(model.map(() => queue.shift())).toEqual(model);
        expect(queue.shift()).toBeUndefined();
      }),
    );
  });
});
