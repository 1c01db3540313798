import { context as contextApi, ROOT_CONTEXT, trace, type Context, type Span } from '@opentelemetry/api';
import { onAbort } from './abort-listener.ts';
import { EngineRequest, type RequestEnd } from './engine-request.ts';
import { ParallelRequest } from './parallel-request.ts';
import { getAdopted, setAdopted } from './request-context.ts';
import type { RequestHost } from './request-host.ts';
import {
  resolveRequestOptions,
  type AdoptOptions,
  type RequestParameters,
  type StartRequestOptions,
} from './request-options.ts';
import { requestAttributes, startRequestSpan } from './start-span.ts';
import { withTraceHeaders, type TraceHeaders } from './trace-headers.ts';
import { VllmRequest } from './vllm-request.ts';

/** What a request is made of. */
interface RequestStart {
  readonly host: RequestHost;
  readonly parameters: RequestParameters;
  /** Wall clock, seconds since the epoch. */
  readonly arrivalTime: number;
  /** The Context that its own is made from. */
  readonly base: Context;
  readonly span: Span;
  /** Whether the span is the application's. */
  readonly adopted: boolean;
}

/** Starts a request on an engine, with a span of its own. Never throws. */
export function startRequest(host: RequestHost, options: StartRequestOptions): VllmRequest {
  const parameters = parametersOf(host, options);
  const base = withParent(host, contextApi.active(), () => options.traceHeaders);
  return build(withOwnSpan(host, parameters, base));
}

/**
 * Starts the request of an output that nobody had started: without what only a frontend knows, its arrival above all.
 * The engine ends it; where it falls silent, the request counts as lost in the end. Never throws.
 *
 * @param receivedAt - When the output arrived: wall clock, checked.
 * @param traceHeaders - The headers that the request came with, as far as the engine gave them back.
 */
export function trackRequest(
  host: RequestHost,
  requestId: string,
  receivedAt: number,
  traceHeaders: TraceHeaders | null | undefined,
): EngineRequest {
  const parameters = resolveRequestOptions({ requestId }, host.drops);
  const base = withParent(host, ROOT_CONTEXT, () => traceHeaders);
  const span = startRequestSpan(host, parameters, parameters.requestId, receivedAt, base);
  const request = new EngineRequest(host, requestId, parameters, Number.NaN, span, false, undefined);
  host.live.orphans.add(request, host.clock.wallSeconds());
  return request;
}

/** Makes a request of the application's span, or gives the one in flight that it already is. Never throws. */
export function adoptSpan(host: RequestHost, span: Span, options: AdoptOptions): VllmRequest {
  const known = getAdopted(span);
  if (known?.ended === false) return known;
  const parameters = parametersOf(host, options);
  // One span, several requests one after the other: those after the first get spans of their own below it.
  const request =
    known === undefined
      ? build(withAdoptedSpan(host, parameters, span))
      : build(withOwnSpan(host, parameters, trace.setSpan(contextApi.active(), span)));
  setAdopted(span, request);
  return request;
}

function withOwnSpan(host: RequestHost, parameters: RequestParameters, base: Context): RequestStart {
  const arrivalTime = parameters.arrivalTime ?? host.clock.wallSeconds();
  const span = startRequestSpan(host, parameters, parameters.requestId, arrivalTime, base);
  return { host, parameters, arrivalTime, base, span, adopted: false };
}

function withAdoptedSpan(host: RequestHost, parameters: RequestParameters, span: Span): RequestStart {
  const arrivalTime = parameters.arrivalTime ?? host.clock.wallSeconds();
  try {
    span.setAttributes(requestAttributes(host, parameters, parameters.requestId));
  } catch (error) {
    host.drops.count('providerError', error);
  }
  return { host, parameters, arrivalTime, base: contextApi.active(), span, adopted: true };
}

/** Of options that can't be read, the defaults. */
function parametersOf(host: RequestHost, options: StartRequestOptions & AdoptOptions): RequestParameters {
  try {
    return resolveRequestOptions(options, host.drops);
  } catch (error) {
    host.drops.count('invalidValue', error, 'the options of a request');
    return resolveRequestOptions({}, host.drops);
  }
}

function withParent(
  host: RequestHost,
  context: Context,
  read: () => TraceHeaders | null | undefined,
): Context {
  try {
    const headers = read();
    return headers === undefined || headers === null ? context : withTraceHeaders(context, headers);
  } catch (error) {
    host.drops.count('invalidValue', error, 'traceHeaders');
    return context;
  }
}

function build(start: RequestStart): VllmRequest {
  const { host, parameters, arrivalTime, base, span, adopted } = start;
  if (parameters.n > 1) return buildParallel(start);
  const request = new EngineRequest(
    host,
    parameters.requestId,
    parameters,
    arrivalTime,
    span,
    adopted,
    undefined,
  );
  endOnAbort(request, parameters.signal);
  return new VllmRequest(request, base);
}

function buildParallel({ host, parameters, arrivalTime, base, span, adopted }: RequestStart): VllmRequest {
  const { requestId, n, signal } = parameters;
  const parent = new ParallelRequest(host, parameters, arrivalTime, span, adopted);
  const parentContext = trace.setSpan(base, span);
  const choices = Array.from({ length: n }, (_, position) => {
    const id = `${position}_${requestId}`;
    const choiceSpan = startRequestSpan(host, parameters, id, arrivalTime, parentContext);
    const onEnd = choiceEnd(parent, position);
    return new EngineRequest(host, id, parameters, arrivalTime, choiceSpan, false, onEnd);
  });
  parent.setChoices(choices);
  endOnAbort(parent, signal);
  const handles = choices.map((choice) => new VllmRequest(choice, base));
  return new VllmRequest(parent, base, handles);
}

/** In a function of its own: the scope above holds the span, which an adopted request must not. */
function choiceEnd(parent: ParallelRequest, position: number): (end: RequestEnd) => void {
  return (end) => parent.choiceEnded(position, end);
}

function endOnAbort(lifecycle: EngineRequest | ParallelRequest, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  try {
    lifecycle.releaseAtEnd(onAbort(signal, () => lifecycle.end('abort')));
  } catch (error) {
    lifecycle.host.drops.count('providerError', error);
  }
}
