/** Why a request ended: the values of the `finished_reason` label. */
export type FinishReason = 'stop' | 'length' | 'abort' | 'error' | 'repetition';

/** The finish reasons in the order of the wire's codes: 0 stop, 1 length, 2 abort, 3 error, 4 repetition. */
export const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length', 'abort', 'error', 'repetition'];

/** True for one of the five reasons. */
export function isFinishReason(value: unknown): value is FinishReason {
  return FINISH_REASONS.includes(value as FinishReason);
}

/** The reason of a wire code, or undefined for a code this version does not know. */
export function finishReasonOf(code: number): FinishReason | undefined {
  return Number.isInteger(code) ? FINISH_REASONS[code] : undefined;
}
