import { array, assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_CUDAGRAPH_KINDS } from '../../src/engine/cudagraph-interval.ts';
import { MAX_DURATIONS } from '../../src/engine/durations.ts';
import { IntervalAccumulator } from '../../src/engine/interval-accumulator.ts';
import { MAX_POSITIONS } from '../../src/engine/spec-decode-interval.ts';

const INVALID = [-1, NaN, Infinity, -Infinity, -1n, '5', null, {}, [], true] as never[];

const NOTHING = { specDecode: undefined, cudagraph: undefined, nixl: undefined };

describe('speculative decoding of an interval', () => {
  it('is the sum of its steps, position by position', () => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeSpecDecode({
      num_drafts: 2,
      num_draft_tokens: 6,
      num_accepted_tokens: 4,
      num_accepted_tokens_per_pos: [2, 1, 1],
    });
    accumulator.observeSpecDecode({
      num_drafts: 1,
      num_draft_tokens: 3n,
      num_accepted_tokens: 1,
      num_accepted_tokens_per_pos: [1, 0, 0],
    });
    expect(accumulator.drain().specDecode).toEqual({
      drafts: 3,
      draftTokens: 9,
      acceptedTokens: 5,
      acceptedPerPosition: [3, 1, 1],
      acceptedBeyond: 0,
    });
  });

  it.each<[number[][], number[]]>([
    [
      [[1], [1, 1, 1]],
      [2, 1, 1],
    ],
    [
      [[1, 1, 1], [1]],
      [2, 1, 1],
    ],
    [
      [[], [1, 2]],
      [1, 2],
    ],
    [[[], []], []],
  ])('takes steps with different numbers of positions: %j', (steps, expected) => {
    const accumulator = new IntervalAccumulator();
    for (const positions of steps) accumulator.observeSpecDecode({ num_accepted_tokens_per_pos: positions });
    expect(accumulator.drain().specDecode?.acceptedPerPosition).toEqual(expected);
  });

  it('keeps 64 positions apart, and counts what was accepted further on together', () => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeSpecDecode({ num_accepted_tokens_per_pos: Array.from({ length: 100 }, () => 2) });
    const specDecode = accumulator.drain().specDecode!;
    expect(MAX_POSITIONS).toBe(64);
    expect(specDecode.acceptedPerPosition).toEqual(Array.from({ length: 64 }, () => 2));
    expect(specDecode.acceptedBeyond).toBe(72);
  });

  it.each(INVALID)('leaves out a value that cannot be right, and keeps the others: %s', (invalid) => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeSpecDecode({
      num_drafts: invalid,
      num_draft_tokens: 3,
      num_accepted_tokens: invalid,
      num_accepted_tokens_per_pos: [invalid, 2],
    });
    accumulator.observeSpecDecode({
      num_drafts: 1,
      num_accepted_tokens_per_pos: Array.isArray(invalid) ? undefined : invalid,
    });
    expect(accumulator.drain().specDecode).toEqual({
      drafts: 1,
      draftTokens: 3,
      acceptedTokens: 0,
      acceptedPerPosition: [0, 2],
      acceptedBeyond: 0,
    });
  });
});

describe('a list that is none', () => {
  it.each(['123', { length: 3 }, 5, null] as never[])('adds nothing: %j', (list) => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeSpecDecode({ num_accepted_tokens_per_pos: list });
    accumulator.observeNixl({ transfer_duration: list, num_failed_transfers: list });
    const { specDecode, nixl } = accumulator.drain();
    expect(specDecode?.acceptedPerPosition).toEqual([]);
    expect([nixl?.transfers.count, nixl?.failedTransfers]).toEqual([0, 0]);
  });
});

describe('the CUDA-graph runs of an interval', () => {
  const run = (tokens: number, runtimeMode: string) => ({
    num_unpadded_tokens: tokens,
    num_padded_tokens: 8,
    num_paddings: 8 - tokens,
    runtime_mode: runtimeMode,
  });

  it('are counted by their four parts, in the order first seen', () => {
    const accumulator = new IntervalAccumulator();
    for (const stat of [run(7, 'FULL'), run(6, 'FULL'), run(7, 'FULL'), run(7, 'CUDAGraphMode.PIECEWISE')])
      accumulator.observeCudagraph(stat);
    expect([...accumulator.drain().cudagraph!.runs.values()]).toEqual([
      { unpaddedTokens: 7, paddedTokens: 8, paddings: 1, runtimeMode: 'FULL', count: 2 },
      { unpaddedTokens: 6, paddedTokens: 8, paddings: 2, runtimeMode: 'FULL', count: 1 },
      { unpaddedTokens: 7, paddedTokens: 8, paddings: 1, runtimeMode: 'CUDAGraphMode.PIECEWISE', count: 1 },
    ]);
  });

  it('are kept apart for 1024 kinds, and counted together beyond', () => {
    const accumulator = new IntervalAccumulator();
    for (let round = 0; round < 2; round += 1) {
      for (let kind = 0; kind < MAX_CUDAGRAPH_KINDS + 5; kind += 1) {
        accumulator.observeCudagraph({ ...run(0, 'NONE'), num_unpadded_tokens: kind });
      }
    }
    const cudagraph = accumulator.drain().cudagraph!;
    expect(MAX_CUDAGRAPH_KINDS).toBe(1024);
    expect(cudagraph.runs.size).toBe(1024);
    expect([...cudagraph.runs.values()].every(({ count }) => count === 2)).toBe(true);
    expect(cudagraph.others).toBe(10);
  });

  it.each(INVALID)('leave out a run with a number that cannot be right: %s', (invalid) => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeCudagraph({ ...run(1, 'FULL'), num_unpadded_tokens: invalid });
    accumulator.observeCudagraph({ ...run(1, 'FULL'), num_padded_tokens: invalid });
    accumulator.observeCudagraph({ ...run(1, 'FULL'), num_paddings: invalid });
    expect(accumulator.drain()).toEqual(NOTHING);
  });

  it.each(['', 'a | b', 'FULL\n', 'ÄÖ', 'x'.repeat(65), 5, null, undefined, Symbol('FULL')] as string[])(
    'leave out a run whose mode is no name: %j',
    (mode) => {
      const accumulator = new IntervalAccumulator();
      accumulator.observeCudagraph(run(1, mode));
      expect(accumulator.drain()).toEqual(NOTHING);
    },
  );
});

describe('the NIXL transfers of an interval', () => {
  it('are summed, with every duration kept for quantiles', () => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeNixl({
      transfer_duration: [0.5, 0.25],
      post_duration: [0.125, 0.125],
      bytes_transferred: [1024, 2n ** 60n],
      num_descriptors: [4, 6],
      num_failed_transfers: [1, 2],
      num_failed_notifications: [1],
      num_kv_expired_reqs: [],
    });
    accumulator.observeNixl({ transfer_duration: [1], num_kv_expired_reqs: [1, 1] });
    expect(accumulator.drain().nixl).toEqual({
      transfers: { count: 3, totalSeconds: 1.75, sample: [0.5, 0.25, 1] },
      posts: { count: 2, totalSeconds: 0.25, sample: [0.125, 0.125] },
      bytes: 1024 + 2 ** 60,
      descriptors: 10,
      failedTransfers: 3,
      failedNotifications: 1,
      kvExpiredRequests: 2,
    });
  });

  it('are sampled evenly where there are more than 8192', () => {
    const accumulator = new IntervalAccumulator();
    const durations = Array.from({ length: 40_000 }, (_, index) => index);
    accumulator.observeNixl({ transfer_duration: durations });
    const { transfers } = accumulator.drain().nixl!;
    expect(MAX_DURATIONS).toBe(8192);
    expect(transfers.count).toBe(40_000);
    expect(transfers.totalSeconds).toBe((40_000 * 39_999) / 2);
    expect(transfers.sample).toHaveLength(8192);
    expect(new Set(transfers.sample).size).toBe(8192);
    // Of the 8192 kept, 4096 are expected from the later half, with a standard deviation of about 40.
    const late = transfers.sample.filter((duration) => duration >= 20_000).length;
    expect(Math.abs(late - 4096)).toBeLessThan(500);
  });

  it.each(INVALID)('leave out a value that cannot be right: %s', (invalid) => {
    const accumulator = new IntervalAccumulator();
    accumulator.observeNixl({
      transfer_duration: [invalid, 0],
      post_duration: invalid,
      bytes_transferred: [invalid, 5],
      num_failed_transfers: [invalid],
    });
    expect(accumulator.drain().nixl).toEqual({
      transfers: { count: 1, totalSeconds: 0, sample: [0] },
      posts: { count: 0, totalSeconds: 0, sample: [] },
      bytes: 5,
      descriptors: 0,
      failedTransfers: 0,
      failedNotifications: 0,
      kvExpiredRequests: 0,
    });
  });
});

describe('an interval accumulator', () => {
  it('gives what was observed once, and begins anew', () => {
    const accumulator = new IntervalAccumulator();
    expect(accumulator.drain()).toEqual(NOTHING);
    accumulator.observeSpecDecode({ num_drafts: 1 });
    const first = accumulator.drain();
    accumulator.observeSpecDecode({ num_drafts: 5 });
    expect(first.specDecode?.drafts).toBe(1);
    expect(accumulator.drain().specDecode?.drafts).toBe(5);
    expect(accumulator.drain()).toEqual(NOTHING);
  });

  it('adds up what others gathered, all kinds of runs and no more durations than before, and leaves that as it is', () => {
    const gather = (kind: number): IntervalAccumulator => {
      const accumulator = new IntervalAccumulator();
      accumulator.observeSpecDecode({
        num_drafts: 1,
        num_accepted_tokens_per_pos: Array.from({ length: 70 }, () => 1),
      });
      for (let offset = 0; offset < 600; offset += 1) {
        accumulator.observeCudagraph({
          num_unpadded_tokens: kind + offset,
          num_padded_tokens: 1,
          num_paddings: 0,
          runtime_mode: 'FULL',
        });
      }
      accumulator.observeNixl({
        transfer_duration: Array.from({ length: 5000 }, () => 1),
        bytes_transferred: [1],
      });
      return accumulator;
    };
    const [one, other] = [gather(0).drain(), gather(500).drain()];
    const before = structuredClone(one);
    const total = new IntervalAccumulator();
    total.merge(one);
    total.merge(other);
    total.merge(NOTHING);
    const merged = total.drain();
    expect(one).toEqual(before);
    expect(merged.specDecode).toEqual({
      drafts: 2,
      draftTokens: 0,
      acceptedTokens: 0,
      acceptedPerPosition: Array.from({ length: 64 }, () => 2),
      acceptedBeyond: 12,
    });
    const counts = [...merged.cudagraph!.runs.values()].map(({ count }) => count);
    expect(counts).toHaveLength(1100);
    expect(counts.reduce((sum, count) => sum + count)).toBe(1200);
    expect(merged.cudagraph!.others).toBe(0);
    expect(merged.nixl?.transfers).toMatchObject({ count: 10_000, totalSeconds: 10_000 });
    expect(merged.nixl?.transfers.sample).toHaveLength(8192);
    expect(merged.nixl?.bytes).toBe(2);
  });

  it('samples the durations of two by how many there were of each, not by how many each has kept', () => {
    const [few, many] = [new IntervalAccumulator(), new IntervalAccumulator()];
    few.observeNixl({ transfer_duration: Array.from({ length: 8192 }, () => 1) });
    many.observeNixl({ transfer_duration: Array.from({ length: 100_000 }, () => 2) });
    const total = new IntervalAccumulator();
    total.merge(few.drain());
    total.merge(many.drain());
    const sample = total.drain().nixl!.transfers.sample;
    expect(sample).toHaveLength(8192);
    const shareOfFew = sample.filter((seconds) => seconds === 1).length / 8192;
    // Expected 0.0757; twenty standard deviations are 0.0585.
    expect(Math.abs(shareOfFew - 8192 / 108_192)).toBeLessThan(0.0585);
  });

  it('adds up the rests of others, too', () => {
    const gathered = new IntervalAccumulator();
    for (let kind = 0; kind < MAX_CUDAGRAPH_KINDS + 3; kind += 1) {
      gathered.observeCudagraph({
        num_unpadded_tokens: kind,
        num_padded_tokens: 1,
        num_paddings: 0,
        runtime_mode: 'FULL',
      });
    }
    const interval = gathered.drain();
    const total = new IntervalAccumulator();
    total.merge(interval);
    total.merge(interval);
    expect(total.drain().cudagraph?.others).toBe(6);
  });

  it('loses nothing, however the steps fall into intervals', () => {
    const steps = array(
      record({
        num_drafts: integer({ min: 0, max: 9 }),
        num_accepted_tokens_per_pos: array(integer({ min: 0, max: 9 }), { maxLength: 80 }),
        cut: integer({ min: 0, max: 2 }),
      }),
    );
    assert(
      property(steps, (stats) => {
        const whole = new IntervalAccumulator();
        const parts = new IntervalAccumulator();
        const sum = new IntervalAccumulator();
        for (const step of stats) {
          whole.observeSpecDecode(step);
          parts.observeSpecDecode(step);
          if (step.cut === 0) sum.merge(parts.drain());
        }
        sum.merge(parts.drain());
        expect(sum.drain()).toEqual(whole.drain());
      }),
    );
  });
});
