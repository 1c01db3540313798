import type { Context, Span, TimeInput } from '@opentelemetry/api';
import { interval } from './clock.ts';
import type { EngineRequest, RequestEnd } from './engine-request.ts';
import type { FinishReason } from './finish-reason.ts';
import type { RequestHost } from './request-host.ts';
import type { RequestLifecycle } from './request-lifecycle.ts';
import type { EndOptions, RequestParameters } from './request-options.ts';
import { metricContextOf, spanOfRequest, type RequestSpan } from './request-span.ts';
import type { SpanEndListener } from './span-end.ts';
import { toHrTime } from './time-input.ts';

/**
 * A user request with several choices. Each choice is an engine request of its own; what this one adds is recorded
 * once, when the last of them ends.
 */
export class ParallelRequest implements RequestLifecycle, SpanEndListener {
  readonly id: string;
  readonly host: RequestHost;
  readonly #arrivalTime: number;
  readonly #context: Context;
  readonly #span: RequestSpan;
  readonly #reasons: (FinishReason | undefined)[];
  #choices: readonly EngineRequest[] = [];
  #remaining: number;
  #longest = 0;
  #generatedTokens = 0;
  #error: unknown;
  #spanEnding = false;
  #removeAbortListener: (() => void) | undefined;

  /** There will be `parameters.n` choices; they are handed over with {@link setChoices}. */
  constructor(
    host: RequestHost,
    parameters: RequestParameters,
    arrivalTime: number,
    span: Span,
    adopted: boolean,
  ) {
    const { requestId, n, response } = parameters;
    this.host = host;
    this.id = requestId;
    this.#arrivalTime = arrivalTime;
    this.#remaining = n;
    this.#reasons = Array.from({ length: n });
    this.#context = metricContextOf(span, host.drops, host.exemplars);
    this.#span = spanOfRequest(span, adopted, host.drops, response, this);
  }

  setChoices(choices: readonly EngineRequest[]): void {
    this.#choices = choices;
  }

  get ended(): boolean {
    return this.#remaining === 0;
  }

  /** Preemptions of all choices together. */
  get numPreemptions(): number {
    return this.#choices.reduce((sum, choice) => sum + choice.numPreemptions, 0);
  }

  get span(): Span | undefined {
    return this.#span.span;
  }

  releaseAtEnd(removeAbortListener: () => void): void {
    if (this.ended) removeAbortListener();
    else this.#removeAbortListener = removeAbortListener;
  }

  /** Which choice is meant can't be known here. */
  recordEvent(): boolean {
    this.host.drops.count(this.ended ? 'afterEnd' : 'ambiguousChoice', this.id, 'an event for request');
    return false;
  }

  /** Which choice is meant can't be known here. */
  recordTokens(): boolean {
    this.host.drops.count(this.ended ? 'afterEnd' : 'ambiguousChoice', this.id, 'tokens for request');
    return false;
  }

  /** Ends every choice that has not ended. */
  end(reason: FinishReason, options: EndOptions = {}): boolean {
    if (this.ended) return false;
    for (const choice of this.#choices) choice.end(reason, options);
    return true;
  }

  /** Its choices are lost one by one. */
  lost(): void {}

  /**
   * To be called by each choice at its end.
   *
   * @param position - Which of the choices, from 0.
   */
  choiceEnded(position: number, { request, reason, receivedAt, error }: RequestEnd): void {
    this.#reasons[position] = reason;
    this.#error ??= error;
    this.#generatedTokens += request.generatedTokens;
    this.#longest = Math.max(this.#longest, request.generatedTokens);
    this.#remaining -= 1;
    if (this.#remaining === 0) this.#finish(receivedAt);
  }

  spanEnds(reason: FinishReason, endTime: TimeInput | undefined): void {
    this.#spanEnding = true;
    for (const choice of this.#choices) choice.endAt(reason, endTime);
  }

  #finish(receivedAt: number): void {
    this.#removeAbortListener?.();
    this.#removeAbortListener = undefined;
    const { series } = this.host;
    series.requestParamsN.record(this.#choices.length, this.#context);
    series.requestMaxGenerationTokens.record(this.#longest, this.#context);
    this.#span.finish(
      {
        reasons: this.#reasons.filter((reason) => reason !== undefined),
        error: this.#error,
        promptTokens: this.#choices[0]?.promptTokens ?? 0,
        generatedTokens: this.#generatedTokens,
        numPreemptions: this.numPreemptions,
        latencies: { e2e: interval(this.#arrivalTime, receivedAt) },
      },
      this.#spanEnding ? undefined : toHrTime(receivedAt),
    );
  }
}
