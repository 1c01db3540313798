import { describe, expect, it } from 'vitest';
import { Random } from '../../../examples/simulated-engine/random.ts';
import { countTokens } from '../../../examples/simulated-engine/token-sequence.ts';
import { generateWorkload, withHangUps } from '../../../examples/simulated-engine/workload.ts';

const generate = (seed: number) => [
  ...generateWorkload({ rate: 20, duration: 200, random: new Random(seed) }),
];

describe('generateWorkload', () => {
  const requests = generate(1);

  it('gives the same requests for the same seed, and others for another', () => {
    expect(generate(1)).toEqual(requests);
    expect(generate(2)).not.toEqual(requests);
  });

  it('lets requests arrive in order, at the given rate, within the given time', () => {
    const arrivals = requests.map(({ arrival }) => arrival);
    expect(arrivals).toEqual(arrivals.toSorted((a, b) => a - b));
    expect(arrivals.at(-1)).toBeLessThan(200);
    expect(arrivals.length).toBeGreaterThan(3800);
    expect(arrivals.length).toBeLessThan(4200);
  });

  it('names every request differently', () => {
    expect(new Set(requests.map(({ id }) => id)).size).toBe(requests.length);
  });

  it('draws lengths with a long tail that ends at the limit', () => {
    const lengths = requests.map(({ outputTokens }) => outputTokens).toSorted((a, b) => a - b);
    expect(lengths[0]).toBeGreaterThanOrEqual(1);
    expect(lengths.at(-1)).toBe(2000);
    expect(lengths[lengths.length >> 1]).toBeGreaterThan(230);
    expect(lengths[lengths.length >> 1]).toBeLessThan(270);
  });

  it('begins about half of the prompts with one of a few common texts', () => {
    const shared = requests.filter(({ prompt }) => prompt.length === 2);
    expect(shared.length / requests.length).toBeCloseTo(0.5, 1);
    expect(new Set(shared.map(({ prompt }) => prompt[0]?.content)).size).toBe(8);
    expect(new Set(requests.map(({ prompt }) => prompt.at(-1)?.content)).size).toBe(requests.length);
  });

  it('draws what it is told to', () => {
    const constant = { median: 10, sigma: 0, max: 100 };
    const random = new Random(1);
    const settings = { prompt: constant, output: constant, sharedPrefixShare: 0, maxTokens: 5 };
    const [first] = generateWorkload({ rate: 1, duration: 100, random, ...settings });
    expect(first).toMatchObject({ outputTokens: 10, maxTokens: 5 });
    expect(countTokens(first?.prompt ?? [])).toBe(10);
  });
});

describe('withHangUps', () => {
  const requests = generate(1);
  const count = (share: number): number =>
    [...withHangUps(requests, share, new Random(5))].filter(({ hangUp }) => hangUp !== undefined).length;

  it('makes the given share of the clients impatient', () => {
    expect([count(0), count(1)]).toEqual([0, requests.length]);
    expect(count(0.1) / requests.length).toBeCloseTo(0.1, 1);
  });

  it('lets them go before the end of the answer', () => {
    for (const { hangUp, outputTokens } of withHangUps(requests, 1, new Random(5))) {
      expect(hangUp?.afterTokens).toBeLessThan(outputTokens);
      expect(hangUp?.afterSeconds).toBeGreaterThanOrEqual(0);
    }
  });

  it('changes nothing else, and draws alike for every share', () => {
    const always = [...withHangUps(requests, 1, new Random(5))];
    for (const [index, request] of [...withHangUps(requests, 0.5, new Random(5))].entries()) {
      expect([requests[index], always[index]]).toContainEqual(request);
    }
  });
});
