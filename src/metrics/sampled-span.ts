import {
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';

/** The span of a Context, where it is sampled and its ids are valid. Never throws, whatever the Context holds. */
export function sampledSpan(context: Context | undefined): SpanContext | undefined {
  if (context === undefined || context === ROOT_CONTEXT) return undefined;
  try {
    const span = trace.getSpanContext(context);
    if (span === undefined || (span.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
    return isSpanContextValid(span) ? span : undefined;
  } catch {
    return undefined;
  }
}
