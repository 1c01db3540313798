import { SpanStatusCode, type SpanStatus, type TimeInput } from '@opentelemetry/api';
import type { FinishReason } from './finish-reason.ts';
import type { ClientResponse } from './request-options.ts';

/** Told before a span ends, whoever ends it. */
export interface SpanEndListener {
  /**
   * @param reason - What the span's status says of the request.
   * @param endTime - What the application gave, if anything.
   */
  spanEnds(reason: FinishReason, endTime: TimeInput | undefined): void;
}

/** What the status of a span that is about to end says of its request. */
export function reasonOfStatus(code: SpanStatusCode, response: ClientResponse | undefined): FinishReason {
  if (code === SpanStatusCode.ERROR) return 'error';
  return response?.writableEnded === false ? 'abort' : 'stop';
}

/** The status code of a span that does not tell it, after a status was set: of several, the last counts, and OK is final. */
export function statusCodeAfter(before: SpanStatusCode, status: SpanStatus): SpanStatusCode {
  const code = status?.code ?? SpanStatusCode.UNSET;
  return code === SpanStatusCode.UNSET || before === SpanStatusCode.OK ? before : code;
}
