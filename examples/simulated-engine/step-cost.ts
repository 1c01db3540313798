import type { ScheduledPart } from './scheduler.ts';

/** What a step costs, in seconds. */
export interface StepCost {
  /** Whatever the batch: scheduling, kernel launches, sampling, and reading the weights once. */
  readonly perStep: number;
  /** Each token of a prompt. */
  readonly perPrefillToken: number;
  /** Each request in decode. */
  readonly perDecode: number;
  /** Each token of context that attention reads. */
  readonly perContextToken: number;
}

/** In the order of magnitude of a model with 8 billion parameters on one H100. */
export const DEFAULT_STEP_COST: StepCost = {
  perStep: 0.008,
  perPrefillToken: 0.000_04,
  perDecode: 0.000_06,
  perContextToken: 0.000_000_04,
};

/** Seconds that this batch takes. */
export function stepSeconds(cost: StepCost, batch: readonly ScheduledPart[]): number {
  let seconds = cost.perStep;
  for (const { request, tokens } of batch) {
    seconds += tokens === 1 ? cost.perDecode : tokens * cost.perPrefillToken;
    seconds += (request.computedTokens + tokens) * cost.perContextToken;
  }
  return seconds;
}
