import { createTraceState, isSpanContextValid, trace, type Context } from '@opentelemetry/api';

/** Headers that travel with a request: names in any case, a value or a list of them; or the Fetch API's `Headers`. */
export type TraceHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | Pick<Headers, 'get'>;

/** Sampled and random. W3C asks to pass on no flag whose meaning is not known. */
const KNOWN_FLAGS = 0b11;

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/**
 * `context` with the remote span that W3C Trace Context headers name as its span, or `context` itself where they
 * name none. vLLM's headers are always W3C's, whatever propagator the process has registered, or none.
 */
export function withTraceHeaders(context: Context, headers: TraceHeaders): Context {
  const match = TRACEPARENT.exec(header(headers, 'traceparent').trim());
  if (match === null) return context;
  const [, version, traceId = '', spanId = '', flags = '', rest] = match;
  // Version ff is forbidden, and version 00 has nothing behind the flags.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return context;
  const traceState = header(headers, 'tracestate');
  const spanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & KNOWN_FLAGS,
    isRemote: true,
    ...(traceState === '' ? {} : { traceState: createTraceState(traceState) }),
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(context, spanContext) : context;
}

/** The text of a header, empty where there is none, or nothing that is text. */
function header(headers: TraceHeaders, name: string): string {
  const values: unknown[] = [isFetchHeaders(headers) ? headers.get(name) : named(headers, name)].flat();
  return values.filter((value) => typeof value === 'string').join(',');
}

function named(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : headers[key];
}

function isFetchHeaders(headers: TraceHeaders): headers is Pick<Headers, 'get'> {
  return typeof headers.get === 'function';
}
