import { Random } from '../../examples/simulated-engine/random.ts';

/** What a generator of test data draws from: the same seed gives the same data. */
export class Draw {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + this.#random.integer(most - least + 1);
  }

  /** A time in seconds below `limit`: a multiple of 2^-10, so that such times add up exactly in any order. */
  seconds(limit: number): number {
    return this.whole(0, limit * 1024 - 1) / 1024;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)]!;
  }

  /** As many as `count` draws of one kind. */
  list<T>(count: number, draw: () => T): readonly T[] {
    return Array.from({ length: count }, draw);
  }

  /** Draws one kind in so many of all cases, and is undefined in the others. */
  maybe<T>(probability: number, draw: () => T): T | undefined {
    return this.chance(probability) ? draw() : undefined;
  }
}
