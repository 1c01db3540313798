import { context as contextApi, createContextKey, trace, type Context, type Span } from '@opentelemetry/api';
import type { VllmRequest } from './vllm-request.ts';

/**
 * The key under which a Context carries its request. `createContextKey` makes equal texts equal keys, so that all
 * copies of this package in a process, its ESM and CJS halves among them, find each other's requests.
 */
const REQUEST_KEY = createContextKey(
  'opentelemetry-instrumentation-vllm: request of this Context, version 1',
);

const ADOPTED_SPANS = Symbol.for('opentelemetry-instrumentation-vllm: requests by adopted span, version 1');

/** The requests of adopted spans, shared by all copies of this package. */
const adopted: WeakMap<Span, VllmRequest> = shared(ADOPTED_SPANS);

/**
 * The request that a Context carries: the one it was made for by `request.run`, `request.stream` or
 * `request.context`, or else the one that adopted the Context's span.
 *
 * @param context - Default: the active Context.
 */
export function getRequest(context: Context = contextApi.active()): VllmRequest | undefined {
  const carried = context.getValue(REQUEST_KEY) as VllmRequest | undefined;
  if (carried !== undefined) return carried;
  const span = trace.getSpan(context);
  return span === undefined ? undefined : adopted.get(span);
}

/**
 * Counts a preemption for the request of the active Context, from anywhere below it.
 *
 * @param timestamp - Engine-monotonic seconds. Default: this process's monotonic clock.
 * @returns False where there is no request, or it has ended, or has several choices (then use the choice's own).
 */
export function recordPreemption(timestamp?: number): boolean {
  return getRequest()?.recordPreemption(timestamp) ?? false;
}

/** `context` carrying `request`. */
export function withRequest(context: Context, request: VllmRequest): Context {
  return context.setValue(REQUEST_KEY, request);
}

/** The request that adopted `span`. */
export function getAdopted(span: Span): VllmRequest | undefined {
  return adopted.get(span);
}

/** Makes `request` the one that {@link getRequest} finds where `span` is the active span. */
export function setAdopted(span: Span, request: VllmRequest): void {
  adopted.set(span, request);
}

function shared(key: symbol): WeakMap<Span, VllmRequest> {
  const holder = globalThis as { [key: symbol]: WeakMap<Span, VllmRequest> | undefined };
  return (holder[key] ??= new WeakMap());
}
