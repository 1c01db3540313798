import { describe, expect, it } from 'vitest';
import { mix64, Random } from '../../../examples/simulated-engine/random.ts';

const draw = (random: Random, count: number): number[] => Array.from({ length: count }, () => random.next());

describe('Random', () => {
  it('gives the same numbers for the same seed, and others for another', () => {
    expect(draw(new Random(7), 5)).toEqual(draw(new Random(7), 5));
    expect(draw(new Random(7), 5)).not.toEqual(draw(new Random(8), 5));
  });

  it('stays in [0, 1) with a mean of one half', () => {
    const numbers = draw(new Random(1), 10_000);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(numbers.reduce((sum, number) => sum + number) / numbers.length).toBeCloseTo(0.5, 2);
  });

  it('draws integers below the limit, all of them', () => {
    const random = new Random(1);
    const drawn = new Set(Array.from({ length: 200 }, () => random.integer(6)));
    expect(drawn).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  });

  it('draws exponential gaps with the given mean', () => {
    const random = new Random(1);
    const gaps = Array.from({ length: 20_000 }, () => random.exponential(0.25));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(gaps.reduce((sum, gap) => sum + gap) / gaps.length).toBeCloseTo(0.25, 2);
  });

  it('draws log-normal numbers around the given median, one in twenty above five times as much for sigma 1', () => {
    const random = new Random(1);
    const numbers = Array.from({ length: 20_000 }, () => random.logNormal(100, 1)).sort((a, b) => a - b);
    expect(numbers[10_000]).toBeGreaterThan(97);
    expect(numbers[10_000]).toBeLessThan(103);
    const tail = numbers.filter((number) => number > 500).length / numbers.length;
    expect(tail).toBeCloseTo(0.054, 2);
  });

  it('forks a generator that draws without moving the first', () => {
    const random = new Random(3);
    const fork = random.fork();
    const expected = draw(random, 3);

    const again = new Random(3);
    draw(again.fork(), 100);
    expect(draw(again, 3)).toEqual(expected);
    expect(draw(fork, 3)).not.toEqual(expected);
  });
});

describe('mix64', () => {
  it('is the finaliser of SplitMix64: the first numbers of its reference implementation for seed 0', () => {
    const gamma = 0x9e3779b97f4a7c15n;
    expect([mix64(gamma), mix64(2n * gamma), mix64(3n * gamma)]).toEqual([
      0xe220a8397b1dcdafn,
      0x6e789e6aa1b965f4n,
      0x06c45d188009454fn,
    ]);
  });
});
