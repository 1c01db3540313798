import {
  SpanStatusCode,
  type HrTime,
  type Span,
  type SpanContext,
  type SpanStatus,
  type TimeInput,
} from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { ClientResponse } from './request-options.ts';
import type { RequestSpan } from './request-span.ts';
import { reasonOfStatus, statusCodeAfter, type SpanEndListener } from './span-end.ts';
import type { RequestSummary } from './span-summary.ts';

/**
 * The span of a request that nobody records, as where there is no tracing or the sampler said no: it carries its parent's
 * trace on, and ends its request like any other.
 *
 * Span and watch are one object: requests in flight are many.
 */
export class UnrecordedSpan implements Span, RequestSpan {
  readonly #spanContext: SpanContext;
  readonly #drops: Drops;
  #listener: SpanEndListener | undefined;
  #response: ClientResponse | undefined;
  #statusCode = SpanStatusCode.UNSET;

  constructor(spanContext: SpanContext, drops: Drops) {
    this.#spanContext = spanContext;
    this.#drops = drops;
  }

  /**
   * Says whose span it is.
   *
   * @param response - What tells whether the client was still there when the span ends.
   */
  watch(listener: SpanEndListener, response: ClientResponse | undefined): this {
    this.#listener = listener;
    this.#response = response;
    return this;
  }

  get span(): Span {
    return this;
  }

  addPreemption(): void {}

  finish({ reasons }: RequestSummary, endTime: HrTime | undefined): void {
    this.#listener = undefined;
    if (endTime === undefined) return;
    try {
      // Whoever adopted it too, or replaced these methods, learns of its end as of any span's.
      if (reasons.includes('error')) this.setStatus({ code: SpanStatusCode.ERROR });
      this.end(endTime);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  spanContext(): SpanContext {
    return this.#spanContext;
  }

  isRecording(): boolean {
    return false;
  }

  end(endTime?: TimeInput | null): void {
    try {
      this.#listener?.spanEnds(reasonOfStatus(this.#statusCode, this.#response), endTime ?? undefined);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  setStatus(status: SpanStatus): this {
    this.#statusCode = statusCodeAfter(this.#statusCode, status);
    return this;
  }

  setAttribute(): this {
    return this;
  }

  setAttributes(): this {
    return this;
  }

  addEvent(): this {
    return this;
  }

  addLink(): this {
    return this;
  }

  addLinks(): this {
    return this;
  }

  updateName(): this {
    return this;
  }

  recordException(): void {}
}
