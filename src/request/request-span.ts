import { ROOT_CONTEXT, trace, TraceFlags, type Context, type HrTime, type Span } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { ClientResponse } from './request-options.ts';
import type { SpanEndListener } from './span-end.ts';
import type { RequestSummary } from './span-summary.ts';
import { UnrecordedSpan } from './unrecorded-span.ts';
import { WatchedSpan } from './watched-span.ts';

/** The span of a request, and what the request does with it. Nothing here throws. */
export interface RequestSpan {
  /** The span, unless it was adopted and is gone. */
  readonly span: Span | undefined;
  /** Adds the event of one preemption. */
  addPreemption(count: number, engineTimestamp: number): void;
  /**
   * Writes how the request ended into the span, and ends it where it is our own.
   *
   * @param endTime - Undefined where the span is being ended already.
   */
  finish(summary: RequestSummary, endTime: HrTime | undefined): void;
}

/**
 * Makes a span that of a request.
 *
 * @param adopted - Whether it is the application's, which then ends it.
 * @param response - What tells whether the client was still there when the span ends.
 */
export function spanOfRequest(
  span: Span,
  adopted: boolean,
  drops: Drops,
  response: ClientResponse | undefined,
  listener: SpanEndListener,
): RequestSpan {
  // One that is adopted may be the span of another request already.
  if (!adopted && span instanceof UnrecordedSpan) return span.watch(listener, response);
  return new WatchedSpan(span, !adopted, drops, response, listener);
}

/**
 * The Context for what a request records: it carries the request's span where that is sampled, for exemplars.
 *
 * @param exemplars - False where there are to be none.
 */
export function metricContextOf(span: Span, drops: Drops, exemplars: boolean): Context {
  if (!exemplars) return ROOT_CONTEXT;
  try {
    const spanContext = span.spanContext();
    const sampled = (spanContext.traceFlags & TraceFlags.SAMPLED) !== 0;
    return sampled ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
  } catch (error) {
    drops.count('providerError', error);
    return ROOT_CONTEXT;
  }
}
