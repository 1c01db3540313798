import {
  SpanStatusCode,
  type Attributes,
  type HrTime,
  type Span,
  type SpanStatus,
  type TimeInput,
} from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { ClientResponse } from './request-options.ts';
import type { RequestSpan } from './request-span.ts';
import { reasonOfStatus, statusCodeAfter, type SpanEndListener } from './span-end.ts';
import { describeEnd, type RequestSummary } from './span-summary.ts';

/** The place, on a span that is watched, of what watches it. */
const WATCH: unique symbol = Symbol('watched by opentelemetry-instrumentation-vllm');

interface SpanWithWatch extends Span {
  [WATCH]?: WatchedSpan;
}

/**
 * The span of a request: one of our own, which ends with the request, or one adopted from the application, which
 * the application ends. Nothing here throws: a span or span processor that does is counted.
 *
 * The `end` of this one span is replaced, since a span that is not sampled never reaches a SpanProcessor. All such spans
 * share one function, which finds what to do on the span itself: requests in flight are many, and closures are not small.
 */
export class WatchedSpan implements RequestSpan {
  readonly #drops: Drops;
  readonly #response: ClientResponse | undefined;
  // An adopted span is held weakly: it keeps its request alive, and not the other way round.
  readonly #span: Span | WeakRef<Span>;
  #listener: SpanEndListener | undefined;
  // What the span had before.
  #end: Span['end'] | undefined;
  #setStatus: Span['setStatus'] | undefined;
  /** As far as the span does not tell it. */
  #statusCode = SpanStatusCode.UNSET;
  /** Another request of the same span, of a tracer that hands out one span to several. */
  #before: WatchedSpan | undefined;

  /**
   * @param owned - Whether the span ends with the request.
   * @param response - What tells whether the client was still there when the span ends.
   */
  constructor(
    span: Span,
    owned: boolean,
    drops: Drops,
    response: ClientResponse | undefined,
    listener: SpanEndListener,
  ) {
    this.#drops = drops;
    this.#response = response;
    this.#span = owned ? span : new WeakRef(span);
    this.#listener = listener;
    this.#guard(() => this.#watch(span));
  }

  /** The span, unless it was adopted and is gone. */
  get span(): Span | undefined {
    return this.#span instanceof WeakRef ? this.#span.deref() : this.#span;
  }

  /** Adds the event of one preemption. */
  addPreemption(count: number, engineTimestamp: number): void {
    const { span } = this;
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
    const { span } = this;
    this.#listener = undefined;
    if (span === undefined) return;
    this.#guard(() => {
      this.#unwatch(span);
      if (span.isRecording()) describeEnd(span, summary, endTime === undefined);
    });
    if (this.#span === span && endTime !== undefined) this.#guard(() => span.end(endTime));
  }

  /** Ends the span, its requests before it. */
  endSpan(span: Span, endTime: TimeInput | undefined): void {
    this.tell(span, endTime);
    this.#end?.call(span, endTime);
  }

  /** Tells the requests of a span that is about to end. */
  tell(span: Span, endTime: TimeInput | undefined): void {
    const { code = this.#statusCode } = (span as { status?: Partial<SpanStatus> }).status ?? {};
    try {
      this.#listener?.spanEnds(reasonOfStatus(code, this.#response), endTime);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
    this.#before?.tell(span, endTime);
  }

  /** Notes the status that is set on the span, and sets it. */
  setStatus(span: Span, status: SpanStatus): Span {
    this.#noteStatus(status);
    return this.#setStatus?.call(span, status) ?? span;
  }

  #noteStatus(status: SpanStatus): void {
    this.#statusCode = statusCodeAfter(this.#statusCode, status);
    if (this.#before !== undefined) this.#before.#noteStatus(status);
  }

  #watch(span: SpanWithWatch): void {
    const before = span[WATCH];
    // First: on a span that can't be extended this throws, and what is replaced below would find nobody to tell.
    span[WATCH] = this;
    // What was replaced for the one before still is, though somebody may have put more on top of it.
    if (before !== undefined && span.end !== before.#end) {
      this.#before = before;
      this.#end = before.#end;
      this.#setStatus = before.#setStatus;
      this.#statusCode = before.#statusCode;
      return;
    }
    this.#end = span.end;
    // The SDK's recording spans tell their status (ReadableSpan); others forget it.
    if (!('status' in span)) {
      this.#setStatus = span.setStatus;
      span.setStatus = setWatchedStatus;
    }
    span.end = endWatched;
  }

  /** Whoever replaced a method after us keeps theirs, which calls ours: it then finds nobody to tell. */
  #unwatch(span: SpanWithWatch): void {
    if (span[WATCH] !== this) return;
    if (this.#before !== undefined) {
      span[WATCH] = this.#before;
      return;
    }
    if (span.end !== endWatched || this.#end === undefined) return;
    if (this.#setStatus !== undefined) {
      if (span.setStatus !== setWatchedStatus) return;
      span.setStatus = this.#setStatus;
    }
    span.end = this.#end;
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }
}

/** The `end` of every span that is watched. */
function endWatched(this: SpanWithWatch, endTime?: TimeInput | null): void {
  this[WATCH]?.endSpan(this, endTime ?? undefined);
}

/** The `setStatus` of every span that is watched and does not tell its status. */
function setWatchedStatus(this: SpanWithWatch, status: SpanStatus): Span {
  return this[WATCH]?.setStatus(this, status) ?? this;
}
