import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../../examples/simulated-engine/event-queue.ts';

describe('EventQueue', () => {
  it('gives the earliest first and, at equal times, what was added first', () => {
    const queue = new EventQueue<string>();
    queue.add(2, 'c');
    queue.add(1, 'a');
    queue.add(2, 'd');
    queue.add(1, 'b');
    expect(Array.from({ length: 5 }, () => queue.take()?.value)).toEqual(['a', 'b', 'c', 'd', undefined]);
  });

  it('is a stable sort, also when taking and adding alternate', () => {
    const command = fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 100 }), (commands) => {
        const queue = new EventQueue<number>();
        const model: { readonly at: number; readonly value: number }[] = [];
        const taken: unknown[] = [];
        const expected: unknown[] = [];
        for (const [value, at] of commands.entries()) {
          if (at === undefined) {
            taken.push(queue.take()?.value);
            expected.push(model.shift()?.value);
          } else {
            queue.add(at, value);
            model.push({ at, value });
            model.sort((a, b) => a.at - b.at);
          }
        }
        for (const { value } of model) {
          taken.push(queue.take()?.value);
          expected.push(value);
        }
        expect(taken).toEqual(expected);
      }),
    );
  });
});
