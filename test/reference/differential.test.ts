import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { compareOn } from './compare.ts';
import { generateStream } from './generate-stream.ts';
import type { ModelOptions } from './model.ts';
import { simulatedStream } from './simulated-stream.ts';

const OPTIONS: ModelOptions = {
  modelName: 'test-model',
  maxModelLen: 40_960,
  maxLoras: 4,
  isDiffusion: false,
  trackUnknownRequests: false,
};

const variations: fc.Arbitrary<Partial<ModelOptions>> = fc.record({
  maxModelLen: fc.constantFrom(40_960, undefined),
  maxLoras: fc.constantFrom(4, undefined),
  isDiffusion: fc.boolean(),
  trackUnknownRequests: fc.boolean(),
});

/** Any part may be missing of a stream, so that one that fails shrinks to the actions that matter. */
const partOfStream = fc
  .noShrink(fc.nat())
  .chain((seed) => fc.subarray([...generateStream(seed, 60)], { minLength: 10 }));

describe('every series of every scrape, beside the reference model', () => {
  it('is equal after what simulated engines send', async () => {
    const { differences, moved } = await compareOn(simulatedStream(1), OPTIONS);
    expect(differences).toEqual([]);
    expect(unmoved(moved)).not.toContain('vllm:num_preemptions');
  });

  it.each<Partial<ModelOptions>>([
    {},
    { trackUnknownRequests: true },
    { isDiffusion: true, maxLoras: undefined, maxModelLen: undefined },
  ])('is equal after a long stream with everything on, and %o', async (more) => {
    const options = { ...OPTIONS, ...more };
    const { differences, moved } = await compareOn(generateStream(1, 800), options);
    expect(differences).toEqual([]);
    const other = options.isDiffusion ? 'vllm:spec_decode_' : 'vllm:diffusion_';
    expect(unmoved(moved).filter((name) => !name.startsWith(other))).toEqual([]);
  });

  it('is equal after any part of any stream', async () => {
    await fc.assert(
      fc.asyncProperty(partOfStream, variations, async (actions, more) => {
        expect((await compareOn(actions, { ...OPTIONS, ...more })).differences).toEqual([]);
      }),
      { numRuns: 50, seed: 20_261_130 },
    );
  });
});

/** The metrics of the catalogue of which no series was above 0: a comparison of nothing but zeros says nothing. */
function unmoved(moved: ReadonlySet<string>): readonly string[] {
  const suffix = { counter: '_total', histogram: '_count', gauge: '', info: '' };
  return catalogue.filter(({ name, kind }) => !moved.has(name + suffix[kind])).map(({ name }) => name);
}
