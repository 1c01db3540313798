import { describe, expect, it } from 'vitest';
import { leastLoaded, roundRobin } from '../../../examples/simulated-engine/load-balancer.ts';

describe('leastLoaded', () => {
  it.each([
    { loads: [{ waiting: 0, running: 0 }], chosen: 0 },
    {
      loads: [
        { waiting: 0, running: 4 },
        { waiting: 0, running: 3 },
      ],
      chosen: 1,
    },
    {
      loads: [
        { waiting: 1, running: 0 },
        { waiting: 0, running: 3 },
      ],
      chosen: 1,
    },
    {
      loads: [
        { waiting: 1, running: 0 },
        { waiting: 0, running: 5 },
      ],
      chosen: 0,
    },
    {
      loads: [
        { waiting: 1, running: 0 },
        { waiting: 0, running: 4 },
      ],
      chosen: 0,
    },
  ])('takes engine $chosen of $loads', ({ loads, chosen }) => {
    expect(leastLoaded(loads)).toBe(chosen);
  });
});

describe('roundRobin', () => {
  it('takes one engine after the other', () => {
    const balance = roundRobin();
    const loads = [1, 2, 3].map((running) => ({ waiting: 0, running }));
    expect(Array.from({ length: 5 }, () => balance(loads))).toEqual([0, 1, 2, 0, 1]);
  });
});
