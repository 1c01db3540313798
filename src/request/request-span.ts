import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type HrTime,
  type Span,
  type SpanStatus,
  type TimeInput,
} from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { FinishReason } from './finish-reason.ts';
import type { ClientResponse } from './request-options.ts';
import type { RequestLatencies } from './request-tracker.ts';

/** What a span says of an ended request. */
export interface RequestSummary {
  /** The reason of each choice, in their order. */
  readonly reasons: readonly FinishReason[];
  readonly error: unknown;
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly numPreemptions: number;
  /** A request with several choices has no phases of its own, only an end. */
  readonly latencies: Pick<RequestLatencies, 'e2e'> & Partial<RequestLatencies>;
}

/**
 * Called before a span ends, whoever ends it.
 *
 * @param reason - What the span's status says of the request.
 * @param endTime - What the application gave, if anything.
 */
export type SpanEndListener = (reason: FinishReason, endTime: TimeInput | undefined) => void;

/**
 * The span of a request: one of our own, which ends with the request, or one adopted from the application, which
 * the application ends. Nothing here throws: a span or span processor that does is counted.
 */
export class RequestSpan {
  /** Carries the span to the record calls where it is sampled, for exemplars. */
  readonly metricContext: Context;
  readonly owned: boolean;
  readonly #drops: Drops;
  // An adopted span is held weakly: it keeps its request alive, and not the other way round.
  readonly #span: Span | WeakRef<Span>;

  /**
   * @param owned - Whether the span ends with the request.
   * @param response - What tells whether the client was still there when the span ends.
   * @param onEnd - Must not hold the span.
   */
  constructor(
    span: Span,
    owned: boolean,
    drops: Drops,
    response: ClientResponse | undefined,
    onEnd: SpanEndListener,
  ) {
    this.owned = owned;
    this.#drops = drops;
    this.#span = owned ? span : new WeakRef(span);
    this.metricContext = this.#guard(() => contextOf(span)) ?? ROOT_CONTEXT;
    // The method of this one span is wrapped, since a span that is not sampled never reaches a SpanProcessor.
    this.#guard(() => watchEnd(span, drops, response, onEnd));
  }

  /** The span, unless it was adopted and is gone. */
  get span(): Span | undefined {
    return this.#span instanceof WeakRef ? this.#span.deref() : this.#span;
  }

  /** Adds the event of one preemption. */
  addPreemption(count: number, engineTimestamp: number): void {
    const span = this.span;
    this.#guard(() => {
      if (span?.isRecording() !== true) return;
      const attributes: Attributes = { 'vllm.request.num_preemptions': count };
      if (!Number.isNaN(engineTimestamp)) attributes['vllm.engine.timestamp'] = engineTimestamp;
      span.addEvent('vllm.request.preempted', attributes);
    });
  }

  /**
   * Writes how the request ended into the span, and ends it where it is our own.
   *
   * @param endTime - Undefined where the span is being ended already.
   */
  finish(summary: RequestSummary, endTime: HrTime | undefined): void {
    const span = this.span;
    if (span === undefined) return;
    this.#guard(() => {
      unwatchEnd(span);
      if (span.isRecording()) describeEnd(span, summary, endTime === undefined);
    });
    if (this.owned && endTime !== undefined) this.#guard(() => span.end(endTime));
  }

  #guard<T>(action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      this.#drops.count('providerError', error);
      return undefined;
    }
  }
}

/** @param byApplication - Whether the application ends the span: what it says of its own error then stands. */
function describeEnd(span: Span, summary: RequestSummary, byApplication: boolean): void {
  span.setAttributes(summaryAttributes(summary));
  if (!summary.reasons.includes('error') || byApplication) return;
  span.setAttribute('error.type', errorType(summary.error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(summary.error) });
  if (summary.error instanceof Error) span.recordException(summary.error);
}

/** vLLM's attributes, those of today's GenAI conventions, and the preemption count. */
function summaryAttributes(summary: RequestSummary): Attributes {
  const attributes: Attributes = {
    'gen_ai.usage.prompt_tokens': summary.promptTokens,
    'gen_ai.usage.completion_tokens': summary.generatedTokens,
    'gen_ai.usage.input_tokens': summary.promptTokens,
    'gen_ai.usage.output_tokens': summary.generatedTokens,
    'gen_ai.response.finish_reasons': [...summary.reasons],
    'vllm.request.num_preemptions': summary.numPreemptions,
  };
  for (const [name, seconds] of Object.entries(summary.latencies)) {
    // NaN where it is not known.
    if (seconds >= 0) attributes[`gen_ai.latency.${LATENCY_NAMES[name as keyof RequestLatencies]}`] = seconds;
  }
  return attributes;
}

const LATENCY_NAMES: Readonly<Record<keyof RequestLatencies, string>> = {
  timeToFirstToken: 'time_to_first_token',
  e2e: 'e2e',
  queue: 'time_in_queue',
  prefill: 'time_in_model_prefill',
  decode: 'time_in_model_decode',
  inference: 'time_in_model_inference',
};

/** `_OTHER` is the semantic conventions' word for an error without a type. */
function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'the engine failed the request';
}

/** The methods of spans that are being watched: held by the span, so that nothing here keeps an adopted one alive. */
const watched = new WeakMap<Span, { readonly end: Span['end']; readonly watchedEnd: Span['end'] }>();

function watchEnd(
  span: Span,
  drops: Drops,
  response: ClientResponse | undefined,
  onEnd: SpanEndListener,
): void {
  const { end } = span;
  const watchedEnd = endingWith(end, watchStatus(span), drops, response, onEnd);
  span.end = watchedEnd;
  watched.set(span, { end, watchedEnd });
}

/** Whoever wrapped the method after us keeps their wrapper; ours then finds the request ended. */
function unwatchEnd(span: Span): void {
  const methods = watched.get(span);
  if (methods !== undefined && span.end === methods.watchedEnd) span.end = methods.end;
}

/** In a function of its own, which has no span: the closures of one function share whatever any of them captures. */
function endingWith(
  end: Span['end'],
  statusCode: StatusReader,
  drops: Drops,
  response: ClientResponse | undefined,
  onEnd: SpanEndListener,
): Span['end'] {
  return function endWithRequest(this: Span, endTime?: TimeInput | null): void {
    try {
      onEnd(reasonOf(statusCode(this), response), endTime ?? undefined);
    } catch (error) {
      drops.count('providerError', error);
    }
    end.call(this, endTime ?? undefined);
  };
}

function contextOf(span: Span): Context {
  const spanContext = span.spanContext();
  const sampled = (spanContext.traceFlags & TraceFlags.SAMPLED) !== 0;
  return sampled ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

function reasonOf(code: SpanStatusCode | undefined, response: ClientResponse | undefined): FinishReason {
  if (code === SpanStatusCode.ERROR) return 'error';
  return response?.writableEnded === false ? 'abort' : 'stop';
}

/**
 * How to learn the status of a span when it ends: on the SDK's recording spans (ReadableSpan) it is public; others
 * forget it, so that the method of this one span is wrapped. Of several, the last counts, and OK is final.
 */
function watchStatus(span: Span): StatusReader {
  if ('status' in span) return (ended) => (ended as { status?: Partial<SpanStatus> }).status?.code;
  let code = SpanStatusCode.UNSET;
  const { setStatus } = span;
  span.setStatus = function noteStatus(this: Span, status): Span {
    const given = status?.code ?? SpanStatusCode.UNSET;
    if (given !== SpanStatusCode.UNSET && code !== SpanStatusCode.OK) code = given;
    return setStatus.call(this, status);
  };
  return () => code;
}

type StatusReader = (span: Span) => SpanStatusCode | undefined;
