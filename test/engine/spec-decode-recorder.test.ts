import { describe, expect, it } from 'vitest';
import type { SpecDecodingStats, Statistic } from '../../src/engine/messages.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const DRAFTS = 'vllm:spec_decode_num_drafts';
const DRAFT_TOKENS = 'vllm:spec_decode_num_draft_tokens';
const ACCEPTED = 'vllm:spec_decode_num_accepted_tokens';
const PER_POSITION = 'vllm:spec_decode_num_accepted_tokens_per_pos';
const DIFFUSION = ['denoising_steps', 'canvas_positions', 'committed_tokens'].map(
  (what) => `vllm:diffusion_num_${what}`,
);

const stats = (accepted: readonly Statistic[], more: SpecDecodingStats = {}): SpecDecodingStats => ({
  num_accepted_tokens_per_pos: accepted,
  ...more,
});

/** Accepted tokens by position, of the positions that have a series. */
function perPosition(reading: Reading): number[] {
  if (!reading.names.includes(PER_POSITION)) return [];
  const points = reading.points(PER_POSITION);
  expect(points.map(({ attributes }) => attributes)).toEqual(
    points.map((_, position) => ({ model_name: 'test-model', engine: '0', position: String(position) })),
  );
  return points.map(({ value }) => value as number);
}

describe('speculative decoding', () => {
  it('adds up drafts, proposed and accepted tokens, and those accepted at each position', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      spec_decoding_stats: {
        num_spec_tokens: 3,
        num_drafts: 10,
        num_draft_tokens: 30,
        num_accepted_tokens: 17,
        num_accepted_tokens_per_pos: [9, 6, 2],
      },
    });
    engine.recordSchedulerStats({ spec_decoding_stats: null });
    engine.recordSchedulerStats({
      spec_decoding_stats: {
        num_spec_tokens: 3,
        num_drafts: 1n,
        num_draft_tokens: 3n,
        num_accepted_tokens: 1n,
        num_accepted_tokens_per_pos: [1n, 0n, 0n],
      },
    });
    const reading = await read();
    expect([DRAFTS, DRAFT_TOKENS, ACCEPTED].map((name) => reading.value(name))).toEqual([11, 33, 18]);
    expect(perPosition(reading)).toEqual([10, 6, 2]);
    expect(dropped()).toEqual({});
  });

  it.each<[string, SpecDecodingStats, number[]]>([
    ['as many as are configured, accepted or not', stats([], { num_spec_tokens: 3 }), [0, 0, 0]],
    ['as many as are listed where none are configured', stats([4, 1]), [4, 1]],
    ['as many as are configured where fewer are listed', stats([4], { num_spec_tokens: 3n }), [4, 0, 0]],
    ['as many as are listed where fewer are configured', stats([4, 1], { num_spec_tokens: 1 }), [4, 1]],
    ['none where nothing is said of them', {}, []],
    ['none where null is said of them', { num_accepted_tokens_per_pos: null }, []],
  ])('has positions, %s', async (_, spec_decoding_stats, expected) => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ spec_decoding_stats });
    expect(perPosition(await read())).toEqual(expected);
    expect(dropped()).toEqual({});
  });

  it('has no positions before its first statistics, and never fewer than before', async () => {
    const { engine, read } = startService();
    expect(perPosition(await read())).toEqual([]);
    engine.recordSchedulerStats({ spec_decoding_stats: stats([1]) });
    expect(perPosition(await read())).toEqual([1]);
    engine.recordSchedulerStats({ spec_decoding_stats: stats([1, 1, 1]) });
    expect(perPosition(await read())).toEqual([2, 1, 1]);
    engine.recordSchedulerStats({ spec_decoding_stats: stats([1], { num_spec_tokens: 2 }) });
    expect(perPosition(await read())).toEqual([3, 1, 1]);
  });

  it.each<[string, SpecDecodingStats, number]>([
    ['configured', stats([], { num_spec_tokens: 1e9 }), 0],
    ['listed', stats(Array.from({ length: 70 }, () => 1)), 1],
  ])('has at most 64 positions, however many are %s', async (_, spec_decoding_stats, accepted) => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ spec_decoding_stats });
    expect(perPosition(await read())).toEqual(Array.from({ length: 64 }, () => accepted));
  });

  it('counts what cannot be right, and takes the rest', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      spec_decoding_stats: {
        num_spec_tokens: -1,
        num_drafts: Number.NaN,
        num_draft_tokens: 5,
        num_accepted_tokens: '3' as unknown as number,
        num_accepted_tokens_per_pos: [2, -1, 1],
      },
    });
    engine.recordSchedulerStats({
      spec_decoding_stats: stats('12' as unknown as number[], { num_drafts: 2 }),
    });
    engine.recordSchedulerStats({ spec_decoding_stats: 5 as unknown as SpecDecodingStats });
    const reading = await read();
    expect([DRAFTS, DRAFT_TOKENS, ACCEPTED].map((name) => reading.value(name))).toEqual([2, 5, 0]);
    expect(perPosition(reading)).toEqual([2, 0, 1]);
    expect(dropped()).toEqual({ invalidValue: 4, malformedMessage: 2 });
  });

  it('stays apart by engine', async () => {
    const { vllm, read } = startService();
    vllm.observe({ engine_index: 0, scheduler_stats: { spec_decoding_stats: stats([1]) } });
    vllm.observe({ engine_index: 5, scheduler_stats: { spec_decoding_stats: stats([2, 3]) } });
    const points = (await read()).points(PER_POSITION);
    expect(
      points.map(({ attributes, value }) => [attributes['engine'], attributes['position'], value]),
    ).toEqual([
      ['0', '0', 1],
      ['5', '0', 2],
      ['5', '1', 3],
    ]);
  });
});

describe('isDiffusion', () => {
  it('takes the same statistics for steps, canvas positions and committed tokens', async () => {
    const { engine, read } = startService({ isDiffusion: true });
    const before = await read();
    expect(DIFFUSION.map((name) => before.value(name))).toEqual([0, 0, 0]);
    engine.recordSchedulerStats({
      spec_decoding_stats: {
        num_spec_tokens: 2,
        num_drafts: 4,
        num_draft_tokens: 128,
        num_accepted_tokens: 32,
        num_accepted_tokens_per_pos: [4, 4],
      },
    });
    const reading = await read();
    expect(DIFFUSION.map((name) => reading.value(name))).toEqual([4, 128, 32]);
    expect(reading.names.filter((name) => name.includes('spec_decode'))).toEqual([]);
  });

  it('is false where it is not given: then there are no diffusion metrics', async () => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ spec_decoding_stats: { num_drafts: 4 } });
    const { names } = await read();
    expect(names.filter((name) => name.includes('diffusion'))).toEqual([]);
  });
});
