import type { HrTime, Span, TimeInput } from '@opentelemetry/api';
import { isFinishReason, type FinishReason } from './finish-reason.ts';
import type { LoraPhase } from './lora-requests.ts';
import type { RequestEvent } from './request-event.ts';
import type { RequestHost } from './request-host.ts';
import type { RequestLifecycle } from './request-lifecycle.ts';
import {
  isTime,
  isTokenCount,
  type EndOptions,
  type RecordTokensOptions,
  type RequestParameters,
} from './request-options.ts';
import { metricContextOf, spanOfRequest, type RequestSpan } from './request-span.ts';
import { RequestTracker } from './request-tracker.ts';
import type { SpanEndListener } from './span-end.ts';
import { toHrTime, toWallSeconds } from './time-input.ts';

/** How an engine request ended. */
export interface RequestEnd {
  readonly request: EngineRequest;
  readonly reason: FinishReason;
  /** Wall clock, seconds since the epoch. */
  readonly receivedAt: number;
  readonly error: unknown;
}

/** One request as the engine knows it, from start to end: its numbers, its span, its place among the live ones. */
export class EngineRequest extends RequestTracker implements RequestLifecycle, SpanEndListener {
  readonly #span: RequestSpan;
  readonly #onChoiceEnd: ((end: RequestEnd) => void) | undefined;
  readonly #loraName: string | undefined;
  #loraPhase: LoraPhase;
  #removeAbortListener: (() => void) | undefined;

  /**
   * @param onChoiceEnd - Called at the end of a request that is one choice of several.
   * @param arrivalTime - Wall clock, seconds since the epoch; NaN where nobody saw it arrive.
   * @param adopted - Whether `span` is the application's, which then ends it.
   */
  constructor(
    host: RequestHost,
    id: string,
    parameters: RequestParameters,
    arrivalTime: number,
    span: Span,
    adopted: boolean,
    onChoiceEnd: ((end: RequestEnd) => void) | undefined,
  ) {
    const { loraName, response } = parameters;
    super(host, id, metricContextOf(span, host.drops, host.exemplars), arrivalTime, parameters);
    this.#onChoiceEnd = onChoiceEnd;
    this.#span = spanOfRequest(span, adopted, host.drops, response, this);
    this.#loraName = loraName;
    if (loraName !== undefined) host.lora.start();
    if (!host.live.add(id, this)) host.drops.count('duplicateRequestId', id);
  }

  get span(): Span | undefined {
    return this.#span.span;
  }

  /** Takes over what removes the request's abort listener, to be called at its end. */
  releaseAtEnd(removeAbortListener: () => void): void {
    if (this.ended) removeAbortListener();
    else this.#removeAbortListener = removeAbortListener;
  }

  recordEvent(event: RequestEvent, timestamp?: number): boolean {
    return this.#accepts('an event') && this.applyEvent(event, this.#engineTime(timestamp));
  }

  /**
   * {@link recordEvent} for a request that is known not to have ended.
   *
   * @param timestamp - Engine-monotonic seconds, checked; NaN where unknown.
   */
  applyEvent(event: RequestEvent, timestamp: number): boolean {
    if (event !== 'queued' && event !== 'scheduled' && event !== 'preempted') {
      this.host.drops.count('unknownEvent', event);
      return false;
    }
    this.trackEvent(event, timestamp);
    if (this.#loraName !== undefined) this.#moveLora(event === 'scheduled' ? 'running' : 'waiting');
    if (event === 'preempted') this.#span.addPreemption(this.numPreemptions, timestamp);
    return true;
  }

  recordTokens(count: number, options: RecordTokensOptions): boolean {
    if (!this.#accepts('tokens')) return false;
    if (!isTokenCount(count)) {
      this.host.drops.count('invalidValue', count, 'a number of tokens');
      return false;
    }
    const { series, drops } = this.host;
    this.countTokens(count);
    series.generationTokens.add(count);
    try {
      this.applyTokens(
        count,
        this.#engineTime(options.timestamp),
        this.#wallTime(options.receivedAt),
        options.prefill ?? undefined,
        series.interTokenLatency,
      );
    } catch (error) {
      drops.count('invalidValue', error, 'the options of tokens');
    }
    return true;
  }

  end(reason: FinishReason, options: EndOptions = {}): boolean {
    let given: EndOptions = {};
    try {
      const { receivedAt, error } = options;
      given = { receivedAt, error };
    } catch (error) {
      this.host.drops.count('invalidValue', error, 'the options of an end');
    }
    const receivedAt = this.#wallTime(given.receivedAt);
    return this.#finish(reason, receivedAt, given.error, toHrTime(receivedAt));
  }

  /**
   * {@link end} by a message of the engine.
   *
   * @param receivedAt - Wall clock, checked.
   */
  endByEngine(reason: FinishReason, receivedAt: number): void {
    this.#finish(reason, receivedAt, undefined, toHrTime(receivedAt));
  }

  lost(): void {
    if (this.ended) return;
    if (this.host.outputsObserved) this.host.live.orphans.add(this, this.host.clock.wallSeconds());
    else this.end('abort');
  }

  /** Ends the request with the span of its parent, or with an adopted one: at the time given to `span.end()`. */
  endAt(reason: FinishReason, endTime: TimeInput | undefined): boolean {
    return this.end(reason, { receivedAt: endTime === undefined ? undefined : toWallSeconds(endTime) });
  }

  spanEnds(reason: FinishReason, endTime: TimeInput | undefined): void {
    const receivedAt = this.#wallTime(endTime === undefined ? undefined : toWallSeconds(endTime));
    this.#finish(reason, receivedAt, undefined, undefined);
  }

  /** The one place where a request ends. Everything that may throw is guarded where it is called. */
  #finish(given: FinishReason, receivedAt: number, error: unknown, spanEndTime: HrTime | undefined): boolean {
    if (!this.endOnce()) return false;
    const reason = this.#knownReason(given);
    const { live } = this.host;
    if (live.remove(this.id, this)) live.rememberEnded(this.id);
    if (this.#loraName !== undefined) this.#moveLora(undefined);
    this.host.followProvider();
    this.#removeAbortListener?.();
    this.#removeAbortListener = undefined;

    const latencies = this.latencies(receivedAt);
    this.recordSamples(reason, latencies);
    if (this.#onChoiceEnd === undefined) this.#recordUserRequest();
    this.#span.finish(
      {
        reasons: [reason],
        error,
        promptTokens: this.promptTokens,
        generatedTokens: this.generatedTokens,
        numPreemptions: this.numPreemptions,
        latencies,
      },
      spanEndTime,
    );
    this.#onChoiceEnd?.({ request: this, reason, receivedAt, error });
    return true;
  }

  #recordUserRequest(): void {
    const { series } = this.host;
    series.requestParamsN.record(1, this.context);
    series.requestMaxGenerationTokens.record(this.generatedTokens, this.context);
  }

  #moveLora(to: LoraPhase): void {
    if (this.#loraName !== undefined) this.host.lora.move(this.#loraName, this.#loraPhase, to);
    this.#loraPhase = to;
  }

  #accepts(what: string): boolean {
    if (this.ended) this.host.drops.count('afterEnd', this.id, `${what} for request`);
    return !this.ended;
  }

  /** A reason that is none of ours still ended the request: it counts as `stop`. */
  #knownReason(reason: FinishReason): FinishReason {
    if (isFinishReason(reason)) return reason;
    this.host.drops.count('unknownFinishReason', reason);
    return 'stop';
  }

  /** The caller's engine time, this process's monotonic clock where there is none, NaN where it can't be right. */
  #engineTime(timestamp: number | undefined): number {
    if (timestamp === undefined) return this.host.clock.monotonicSeconds();
    if (isTime(timestamp)) return timestamp;
    this.host.drops.count('invalidValue', timestamp, 'an engine time');
    return Number.NaN;
  }

  #wallTime(receivedAt: number | undefined): number {
    if (isTime(receivedAt)) return receivedAt;
    if (receivedAt !== undefined) this.host.drops.count('invalidValue', receivedAt, 'a receive time');
    return this.host.clock.wallSeconds();
  }
}
