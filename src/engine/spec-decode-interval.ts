import type { SpecDecodingStats } from './messages.ts';
import { amountOf, listOf, type WireList } from './statistics.ts';

/** The draft positions that are kept apart; tokens accepted further on go to a rest. */
export const MAX_POSITIONS = 64;

/** What speculative decoding did in an interval. */
export interface SpecDecodeInterval {
  readonly drafts: number;
  readonly draftTokens: number;
  readonly acceptedTokens: number;
  /** Accepted tokens by draft position, as many as were seen and at most {@link MAX_POSITIONS}. */
  readonly acceptedPerPosition: readonly number[];
  /** Accepted tokens at positions beyond these. */
  readonly acceptedBeyond: number;
}

/** {@link SpecDecodeInterval} while it is gathered. */
export interface SpecDecodeTotal extends SpecDecodeInterval {
  drafts: number;
  draftTokens: number;
  acceptedTokens: number;
  readonly acceptedPerPosition: number[];
  acceptedBeyond: number;
}

export function newSpecDecode(): SpecDecodeTotal {
  return { drafts: 0, draftTokens: 0, acceptedTokens: 0, acceptedPerPosition: [], acceptedBeyond: 0 };
}

/** Adds statistics off the wire, without what can't be right. */
export function addSpecDecode(total: SpecDecodeTotal, stats: SpecDecodingStats): void {
  total.drafts += amountOf(stats.num_drafts);
  total.draftTokens += amountOf(stats.num_draft_tokens);
  total.acceptedTokens += amountOf(stats.num_accepted_tokens);
  addPositions(total, stats.num_accepted_tokens_per_pos);
}

/** Adds what was gathered elsewhere, which stays as it is. */
export function mergeSpecDecode(total: SpecDecodeTotal, other: SpecDecodeInterval): void {
  total.drafts += other.drafts;
  total.draftTokens += other.draftTokens;
  total.acceptedTokens += other.acceptedTokens;
  addPositions(total, other.acceptedPerPosition);
  total.acceptedBeyond += other.acceptedBeyond;
}

/** A step may know more positions than those before: the list grows with it. */
function addPositions(total: SpecDecodeTotal, accepted: WireList): void {
  const list = listOf(accepted);
  for (let position = 0; position < list.length; position += 1) {
    const count = amountOf(list[position]);
    if (position < MAX_POSITIONS) {
      total.acceptedPerPosition[position] = (total.acceptedPerPosition[position] ?? 0) + count;
    } else total.acceptedBeyond += count;
  }
}
