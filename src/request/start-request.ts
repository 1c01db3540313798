import { context as contextApi, trace, type Context, type Span } from '@opentelemetry/api';
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
import { withTraceHeaders } from './trace-headers.ts';
import { VllmRequest } from './vllm-request.ts';

/** Starts a request on an engine, with a span of its own. Never throws. */
export function startRequest(host: RequestHost, options: StartRequestOptions): VllmRequest {
  const parameters = resolveRequestOptions(options, host.drops);
  const arrivalTime = parameters.arrivalTime ?? host.clock.wallSeconds();
  const active = contextApi.active();
  const { traceHeaders } = options;
  const base =
    traceHeaders === undefined || traceHeaders === null ? active : withTraceHeaders(active, traceHeaders);
  const span = startRequestSpan(host, parameters, parameters.requestId, arrivalTime, base);
  return build(host, parameters, arrivalTime, base, span, false);
}

/** Makes a request of the application's span, or gives the one in flight that it already is. Never throws. */
export function adoptSpan(host: RequestHost, span: Span, options: AdoptOptions): VllmRequest {
  const known = getAdopted(span);
  if (known?.ended === false) return known;
  const parameters = resolveRequestOptions(options, host.drops);
  const arrivalTime = parameters.arrivalTime ?? host.clock.wallSeconds();
  // One span, several requests one after the other: those after the first get spans of their own below it.
  if (known !== undefined) {
    const below = trace.setSpan(contextApi.active(), span);
    const ownSpan = startRequestSpan(host, parameters, parameters.requestId, arrivalTime, below);
    const next = build(host, parameters, arrivalTime, below, ownSpan, false);
    setAdopted(span, next);
    return next;
  }
  try {
    span.setAttributes(requestAttributes(host, parameters, parameters.requestId));
  } catch (error) {
    host.drops.count('providerError', error);
  }
  const request = build(host, parameters, arrivalTime, contextApi.active(), span, true);
  setAdopted(span, request);
  return request;
}

function build(
  host: RequestHost,
  parameters: RequestParameters,
  arrivalTime: number,
  base: Context,
  span: Span,
  adopted: boolean,
): VllmRequest {
  const { requestId, n, signal } = parameters;
  if (n > 1) return buildParallel(host, parameters, arrivalTime, base, span, adopted);
  const lifecycle = new EngineRequest(host, requestId, parameters, arrivalTime, span, adopted, undefined);
  if (signal !== undefined) endOnAbort(lifecycle, signal);
  return new VllmRequest(lifecycle, base, []);
}

function buildParallel(
  host: RequestHost,
  parameters: RequestParameters,
  arrivalTime: number,
  base: Context,
  span: Span,
  adopted: boolean,
): VllmRequest {
  const { requestId, n, signal } = parameters;
  const parent = new ParallelRequest(host, parameters, arrivalTime, span, adopted);
  const parentContext = trace.setSpan(base, span);
  const choices = Array.from({ length: n }, (_, position) => {
    const id = `${position}_${requestId}`;
    const choiceSpan = startRequestSpan(host, parameters, id, arrivalTime, parentContext);
    return new EngineRequest(
      host,
      id,
      parameters,
      arrivalTime,
      choiceSpan,
      false,
      choiceEnd(parent, position),
    );
  });
  parent.setChoices(choices);
  if (signal !== undefined) endOnAbort(parent, signal);
  return new VllmRequest(
    parent,
    base,
    choices.map((choice) => new VllmRequest(choice, base, [])),
  );
}

/** In a function of its own: the scope above holds the span, which an adopted request must not. */
function choiceEnd(parent: ParallelRequest, position: number): (end: RequestEnd) => void {
  return (end) => parent.choiceEnded(position, end);
}

function endOnAbort(lifecycle: EngineRequest | ParallelRequest, signal: AbortSignal): void {
  try {
    lifecycle.releaseAtEnd(onAbort(signal, () => lifecycle.end('abort')));
  } catch (error) {
    lifecycle.host.drops.count('providerError', error);
  }
}
