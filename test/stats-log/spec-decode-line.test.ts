import { describe, expect, it } from 'vitest';
import { specDecodeLine } from '../../src/stats-log/spec-decode-line.ts';
import { intervalOf, observedBy, whole } from './intervals.ts';

type Stats = Parameters<Parameters<typeof observedBy>[0]>[0]['observeSpecDecode'] extends (
  stats: infer S,
) => void
  ? S
  : never;

function lineOf(stats: Stats | undefined, elapsedSeconds = 10): ReturnType<typeof specDecodeLine> {
  const observed = observedBy((accumulator) => {
    if (stats !== undefined) accumulator.observeSpecDecode(stats);
  });
  return specDecodeLine(intervalOf({ observed }), elapsedSeconds);
}

describe('the line on speculative decoding', () => {
  it.each<[string, Stats, string]>([
    [
      'with positions',
      {
        num_drafts: 8,
        num_draft_tokens: 24,
        num_accepted_tokens: 13,
        num_accepted_tokens_per_pos: [7, 4, 2],
      },
      'SpecDecoding metrics: Mean acceptance length: 2.62, Accepted throughput: 1.30 tokens/s, Drafted throughput: 2.40 tokens/s, Accepted: 13 tokens, Drafted: 24 tokens, Per-position acceptance rate: 0.875, 0.500, 0.250, Avg Draft acceptance rate: 54.2%',
    ],
    [
      'without positions',
      { num_drafts: 8, num_draft_tokens: 24, num_accepted_tokens: 12 },
      'SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 1.20 tokens/s, Drafted throughput: 2.40 tokens/s, Accepted: 12 tokens, Drafted: 24 tokens, Avg Draft acceptance rate: 50.0%',
    ],
    [
      'where nothing was drafted',
      { num_drafts: 2, num_accepted_tokens_per_pos: [0] },
      'SpecDecoding metrics: Mean acceptance length: 1.00, Accepted throughput: 0.00 tokens/s, Drafted throughput: 0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: 0.000, Avg Draft acceptance rate: nan%',
    ],
  ])('reads, %s', (_, stats, text) => {
    expect(lineOf(stats)?.text).toBe(text);
  });

  it.each<[string, Stats | undefined]>([
    ['no statistics', undefined],
    ['statistics without a draft', { num_drafts: 0, num_draft_tokens: 0, num_accepted_tokens: 0 }],
  ])('is left out where the interval had %s', (_, stats) => {
    expect(lineOf(stats)).toBeUndefined();
  });

  it('has its numbers as attributes, and none that is not defined', () => {
    const line = lineOf({
      num_drafts: 2,
      num_draft_tokens: 130,
      num_accepted_tokens: 66,
      num_accepted_tokens_per_pos: Array.from({ length: 66 }, () => 1),
    });
    expect(whole(line)).toEqual({
      kind: 'spec_decode',
      text: expect.any(String) as string,
      attributes: {
        'vllm.stats.mean_acceptance_length': 34,
        'vllm.stats.accepted_throughput': 6.6,
        'vllm.stats.drafted_throughput': 13,
        'vllm.stats.accepted_tokens': 66,
        'vllm.stats.drafted_tokens': 130,
        'vllm.stats.acceptance_rate_per_position': Array.from({ length: 64 }, () => 0.5),
        'vllm.stats.accepted_tokens_beyond_positions': 2,
        'vllm.stats.draft_acceptance_rate': 66 / 130,
      },
    });
    expect(lineOf({ num_drafts: 1 })?.attributes()).toEqual({
      'vllm.stats.mean_acceptance_length': 1,
      'vllm.stats.accepted_throughput': 0,
      'vllm.stats.drafted_throughput': 0,
      'vllm.stats.accepted_tokens': 0,
      'vllm.stats.drafted_tokens': 0,
    });
  });
});
