import type { SpecDecodeInterval } from '../engine/spec-decode-interval.ts';
import type { EngineInterval } from './engine-interval.ts';
import { formatCount, formatFixed } from './format-fixed.ts';
import type { LineContent, StatsAttributes } from './stats-line.ts';

/** The line on speculative decoding; none without drafts in the interval. */
export function specDecodeLine(interval: EngineInterval, elapsedSeconds: number): LineContent | undefined {
  const { specDecode } = interval.observed;
  if (specDecode === undefined || specDecode.drafts === 0) return undefined;
  const numbers = numbersOf(specDecode, elapsedSeconds);
  return {
    kind: 'spec_decode',
    text:
      `SpecDecoding metrics: Mean acceptance length: ${formatFixed(numbers.meanLength, 2)}` +
      `, Accepted throughput: ${formatFixed(numbers.acceptedThroughput, 2)} tokens/s` +
      `, Drafted throughput: ${formatFixed(numbers.draftedThroughput, 2)} tokens/s` +
      `, Accepted: ${formatCount(specDecode.acceptedTokens)} tokens` +
      `, Drafted: ${formatCount(specDecode.draftTokens)} tokens` +
      positionsPart(numbers.positionRates) +
      `, Avg Draft acceptance rate: ${formatFixed(numbers.acceptanceRate * 100, 1)}%`,
    attributes: () => attributesOf(specDecode, numbers),
  };
}

interface Numbers {
  readonly meanLength: number;
  readonly acceptedThroughput: number;
  readonly draftedThroughput: number;
  readonly positionRates: number[];
  /** NaN where nothing was drafted. */
  readonly acceptanceRate: number;
}

function numbersOf(specDecode: SpecDecodeInterval, elapsedSeconds: number): Numbers {
  const { drafts, draftTokens, acceptedTokens, acceptedPerPosition } = specDecode;
  return {
    // The token that verification itself yields counts as accepted.
    meanLength: 1 + acceptedTokens / drafts,
    acceptedThroughput: acceptedTokens / elapsedSeconds,
    draftedThroughput: draftTokens / elapsedSeconds,
    positionRates: acceptedPerPosition.map((accepted) => accepted / drafts),
    acceptanceRate: draftTokens > 0 ? acceptedTokens / draftTokens : Number.NaN,
  };
}

function positionsPart(rates: readonly number[]): string {
  let part = '';
  for (const rate of rates) {
    part += (part === '' ? ', Per-position acceptance rate: ' : ', ') + formatFixed(rate, 3);
  }
  return part;
}

function attributesOf(specDecode: SpecDecodeInterval, numbers: Numbers): StatsAttributes {
  const { draftTokens, acceptedTokens, acceptedBeyond } = specDecode;
  const attributes: StatsAttributes = {
    'vllm.stats.mean_acceptance_length': numbers.meanLength,
    'vllm.stats.accepted_throughput': numbers.acceptedThroughput,
    'vllm.stats.drafted_throughput': numbers.draftedThroughput,
    'vllm.stats.accepted_tokens': acceptedTokens,
    'vllm.stats.drafted_tokens': draftTokens,
  };
  const { positionRates, acceptanceRate } = numbers;
  if (positionRates.length > 0) attributes['vllm.stats.acceptance_rate_per_position'] = positionRates;
  if (acceptedBeyond > 0) attributes['vllm.stats.accepted_tokens_beyond_positions'] = acceptedBeyond;
  if (draftTokens > 0) attributes['vllm.stats.draft_acceptance_rate'] = acceptanceRate;
  return attributes;
}
