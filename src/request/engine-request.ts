import type { HrTime, Span, TimeInput } from '@opentelemetry/api';
import { isFinishReason, type FinishReason } from './finish-reason.ts';
import type { LoraPhase } from './lora-requests.ts';
import type { PrefillStats } from './prefill-stats.ts';
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
import { RequestSpan, type SpanEndListener } from './request-span.ts';
import { RequestTracker } from './request-tracker.ts';
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
export class EngineRequest implements RequestLifecycle, SpanEndListener {
  readonly id: string;
  readonly host: RequestHost;
  readonly #tracker: RequestTracker;
  readonly #span: RequestSpan;
  readonly #onChoiceEnd: ((end: RequestEnd) => void) | undefined;
  readonly #loraName: string | undefined;
  #loraPhase: LoraPhase;
  #ended = false;
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
    const { promptTokens, maxTokens, loraName, response } = parameters;
    this.host = host;
    this.id = id;
    this.#onChoiceEnd = onChoiceEnd;
    this.#tracker = new RequestTracker(host.series, host.drops, arrivalTime, promptTokens, maxTokens);
    this.#span = new RequestSpan(span, !adopted, host.drops, response, this);
    this.#loraName = loraName;
    if (loraName !== undefined) host.lora.start();
    if (!host.live.add(id, this)) host.drops.count('duplicateRequestId', id);
  }

  get ended(): boolean {
    return this.#ended;
  }

  get numPreemptions(): number {
    return this.#tracker.numPreemptions;
  }

  get generatedTokens(): number {
    return this.#tracker.generatedTokens;
  }

  get promptTokens(): number {
    return this.#tracker.promptTokens;
  }

  get span(): Span | undefined {
    return this.#span.span;
  }

  /** Takes over what removes the request's abort listener, to be called at its end. */
  releaseAtEnd(removeAbortListener: () => void): void {
    if (this.#ended) removeAbortListener();
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
    this.#tracker.recordEvent(event, timestamp);
    if (this.#loraName !== undefined) this.#moveLora(event === 'scheduled' ? 'running' : 'waiting');
    if (event === 'preempted') this.#span.addPreemption(this.#tracker.numPreemptions, timestamp);
    return true;
  }

  recordTokens(count: number, options: RecordTokensOptions): boolean {
    if (!this.#accepts('tokens')) return false;
    if (!isTokenCount(count)) {
      this.host.drops.count('invalidValue', count, 'a number of tokens');
      return false;
    }
    this.#tracker.countTokens(count);
    this.applyTokens(
      count,
      this.#engineTime(options.timestamp),
      this.#wallTime(options.receivedAt),
      options.prefill ?? undefined,
    );
    return true;
  }

  /** Notes that the logits of a step held NaN. */
  noteCorruption(): void {
    this.#tracker.noteCorruption();
  }

  /** Counts the tokens of an output. To be called before its events are applied, and those before its times. */
  countTokens(count: number): void {
    this.#tracker.countTokens(count);
  }

  /**
   * Applies the times of an output whose tokens and events have been taken. Allocates nothing.
   *
   * @param timestamp - Engine-monotonic seconds, checked; NaN where unknown.
   * @param receivedAt - Wall clock, checked.
   * @param prefill - Undefined with a first output from an engine of old that cached nothing of the prompt.
   * @returns The prompt tokens computed for it.
   */
  applyTokens(
    count: number,
    timestamp: number,
    receivedAt: number,
    prefill: PrefillStats | undefined,
  ): number {
    if (prefill !== undefined) this.#tracker.notePrefill(prefill);
    if (count === 0) return 0;
    return this.#tracker.recordTokensAt(
      timestamp,
      receivedAt,
      prefill ?? this.#wholePrompt(),
      this.#span.metricContext,
    );
  }

  end(reason: FinishReason, options: EndOptions = {}): boolean {
    const receivedAt = this.#wallTime(options.receivedAt);
    return this.#finish(reason, receivedAt, options.error, toHrTime(receivedAt));
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
    if (this.#ended) return;
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
    if (this.#ended) return false;
    this.#ended = true;
    const reason = this.#knownReason(given);
    const tracker = this.#tracker;
    const { live } = this.host;
    if (live.remove(this.id, this)) live.rememberEnded(this.id);
    if (this.#loraName !== undefined) this.#moveLora(undefined);
    this.host.followProvider();
    this.#removeAbortListener?.();
    this.#removeAbortListener = undefined;

    const latencies = tracker.latencies(receivedAt);
    tracker.recordEnd(reason, latencies, this.#span.metricContext);
    if (this.#onChoiceEnd === undefined) this.#recordUserRequest();
    this.#span.finish(
      {
        reasons: [reason],
        error,
        promptTokens: tracker.promptTokens,
        generatedTokens: tracker.generatedTokens,
        numPreemptions: tracker.numPreemptions,
        latencies,
      },
      spanEndTime,
    );
    this.#onChoiceEnd?.({ request: this, reason, receivedAt, error });
    return true;
  }

  #recordUserRequest(): void {
    const { series } = this.host;
    series.requestParamsN.record(1, this.#span.metricContext);
    series.requestMaxGenerationTokens.record(this.#tracker.generatedTokens, this.#span.metricContext);
  }

  /** An engine that says nothing of the prompt with its first token computed all of it. */
  #wholePrompt(): PrefillStats | undefined {
    const { prefilling, promptTokens } = this.#tracker;
    return prefilling ? { num_prompt_tokens: promptTokens, num_computed_tokens: promptTokens } : undefined;
  }

  #moveLora(to: LoraPhase): void {
    if (this.#loraName !== undefined) this.host.lora.move(this.#loraName, this.#loraPhase, to);
    this.#loraPhase = to;
  }

  #accepts(what: string): boolean {
    if (this.#ended) this.host.drops.count('afterEnd', this.id, `${what} for request`);
    return !this.#ended;
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
