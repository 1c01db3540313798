import { describe, expect, it } from 'vitest';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import { FuzzFailure, fuzzRound } from './fuzz-round.ts';

describe('a round of mutated frames', () => {
  it.each([1, 2, 3])(
    'finds every invariant holding, with some frames refused and some not: seed %i',
    async (seed) => {
      const { refused, observed, dropped, dead, collections } = await fuzzRound({ seed, collectEvery: 50 });
      expect(refused + observed + dropped + dead).toBe(600);
      for (const outcome of [refused, observed, dropped]) expect(outcome).toBeGreaterThan(20);
      expect(collections).toBe(12);
    },
  );

  it('is the same for the same seed', async () => {
    const frames = async (): Promise<readonly string[]> => {
      const seen: string[] = [];
      const decode: typeof decodeEngineCoreOutputs = (frame) => {
        seen.push((frame as Buffer).toString('hex'));
        return decodeEngineCoreOutputs(frame);
      };
      await fuzzRound({ seed: 7, collectEvery: 600, decode });
      return seen;
    };
    expect(await frames()).toEqual(await frames());
  });

  it('finds an error that is not of the one kind, and keeps the frame', async () => {
    let last: unknown;
    const decode: typeof decodeEngineCoreOutputs = (frame) => {
      last = frame;
      throw new RangeError('out of bounds');
    };
    const failure: unknown = await fuzzRound({ seed: 1, collectEvery: 50, decode }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(FuzzFailure);
    expect((failure as FuzzFailure).frame).toBe(last);
    expect((failure as FuzzFailure).message).toContain('out of bounds');
  });

  it('finds a healthy request that lost something', async () => {
    const decode: typeof decodeEngineCoreOutputs = () => ({
      outputs: [{ request_id: 'sentinel-1', finish_reason: 2 }],
    });
    await expect(fuzzRound({ seed: 1, collectEvery: 50, decode })).rejects.toThrow(
      'gen_ai.usage.completion_tokens',
    );
  });
});
