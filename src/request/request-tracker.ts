import type { Context } from '@opentelemetry/api';
import { interval } from './clock.ts';
import type { FinishReason } from './finish-reason.ts';
import type { PrefillStats } from './prefill-stats.ts';
import type { RequestEvent } from './request-event.ts';
import type { RequestHost } from './request-host.ts';
import type { RequestParameters } from './request-options.ts';

/**
 * The intervals of a request's life in seconds; 0 where one was not lived. The first two are NaN for a request whose
 * arrival nobody saw.
 */
export interface RequestLatencies {
  readonly timeToFirstToken: number;
  readonly e2e: number;
  readonly queue: number;
  readonly prefill: number;
  readonly decode: number;
  readonly inference: number;
}

/** What takes the values of a histogram: its series, or a run that records equal ones at once. */
export interface ValueRecorder {
  record(value: number, context: Context): void;
}

/**
 * The numbers of one engine request, from arrival to end, and the samples they become: what an `EngineRequest` is built
 * on, and one object with it, since requests in flight are many. A preemption resets no timestamp: the pause shows as one
 * long inter-token latency, inside decode and inference time.
 *
 * Times left unset are NaN, since an engine's monotonic clock may well start at 0.
 */
export class RequestTracker {
  readonly id: string;
  readonly host: RequestHost;
  /** What is recorded is recorded in this Context: it carries the request's span where that is sampled, for exemplars. */
  protected readonly context: Context;
  // What every output needs comes first, and so lies together.
  #ended = false;
  #generatedTokens = 0;
  #prefilling = true;
  #lastTokenAt = Number.NaN;
  readonly #arrivalTime: number;
  readonly #maxTokens: number;
  #promptTokens: number;
  #numPreemptions = 0;
  #cachedTokens = -1;
  #corrupted = false;
  #queuedAt = Number.NaN;
  #scheduledAt = Number.NaN;
  #firstTokenAt = Number.NaN;
  #timeToFirstToken = 0;

  /**
   * @param arrivalTime - Wall clock, seconds since the epoch; NaN where nobody saw the request arrive.
   * @param parameters - Without a prompt length the engine's prefill statistics are taken at their word.
   */
  constructor(
    host: RequestHost,
    id: string,
    context: Context,
    arrivalTime: number,
    { promptTokens = -1, maxTokens = 0 }: Pick<RequestParameters, 'promptTokens' | 'maxTokens'>,
  ) {
    this.host = host;
    this.id = id;
    this.context = context;
    this.#arrivalTime = arrivalTime;
    this.#promptTokens = promptTokens;
    this.#maxTokens = maxTokens;
  }

  /** Whether the sample has been taken. */
  get ended(): boolean {
    return this.#ended;
  }

  get numPreemptions(): number {
    return this.#numPreemptions;
  }

  get generatedTokens(): number {
    return this.#generatedTokens;
  }

  get promptTokens(): number {
    return Math.max(this.#promptTokens, 0);
  }

  /**
   * Adds the tokens of an output to the request's own; those of the engine are the caller's to count. The first step,
   * before the output's events.
   */
  countTokens(tokens: number): void {
    this.#generatedTokens += tokens;
  }

  /**
   * Applies one scheduler event: the second step.
   *
   * @param timestamp - Engine-monotonic seconds.
   */
  protected trackEvent(event: RequestEvent, timestamp: number): void {
    if (event === 'preempted') {
      this.#numPreemptions += 1;
      this.host.series.numPreemptions.add(1);
      return;
    }
    // Engines repeat QUEUED for every chunk of a streamed input, and SCHEDULED after every preemption: the first stands.
    if (event === 'queued') {
      if (Number.isNaN(this.#queuedAt)) this.#queuedAt = timestamp;
    } else if (Number.isNaN(this.#scheduledAt)) this.#scheduledAt = timestamp;
  }

  /** Keeps what the first prefill statistics say of this request, whether or not tokens come with them. */
  #notePrefill(prefill: PrefillStats): void {
    if (this.#cachedTokens < 0) this.#cachedTokens = tokensOrZero(prefill.num_cached_tokens);
    if (this.#promptTokens < 0) this.#promptTokens = tokensOrZero(prefill.num_prompt_tokens);
  }

  /**
   * Applies the times of an output whose tokens and events have been taken: the last step. Allocates nothing.
   *
   * @param timestamp - Engine-monotonic seconds, checked; NaN where unknown.
   * @param receivedAt - Wall clock, seconds since the epoch, checked.
   * @param prefill - Undefined with a first output from an engine that says nothing of the prompt: it computed all of it.
   * @param latencies - Where the inter-token latency is recorded.
   * @returns The prompt tokens that were computed for it: 0 but for a first output.
   */
  applyTokens(
    count: number,
    timestamp: number,
    receivedAt: number,
    prefill: PrefillStats | undefined,
    latencies: ValueRecorder,
  ): number {
    if (prefill !== undefined) this.#notePrefill(prefill);
    if (count === 0) return 0;
    let computedTokens = 0;
    if (this.#prefilling) computedTokens = this.#trackFirstTokens(timestamp, receivedAt, prefill);
    else latencies.record(interval(this.#lastTokenAt, timestamp), this.context);
    // Not where it is NaN.
    if (timestamp > -Infinity) this.#lastTokenAt = timestamp;
    return computedTokens;
  }

  /** Notes that the logits of a step held NaN. */
  noteCorruption(): void {
    this.#corrupted = true;
  }

  /** @returns False where it had ended already. */
  protected endOnce(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    return true;
  }

  /** The intervals as they stand. */
  protected latencies(receivedAt: number): RequestLatencies {
    return {
      timeToFirstToken: this.#sawArrival ? this.#timeToFirstToken : Number.NaN,
      e2e: this.#sinceArrival(receivedAt),
      queue: interval(this.#queuedAt, this.#scheduledAt),
      prefill: interval(this.#scheduledAt, this.#firstTokenAt),
      decode: interval(this.#firstTokenAt, this.#lastTokenAt),
      inference: interval(this.#scheduledAt, this.#lastTokenAt),
    };
  }

  /**
   * Records the samples of the ended request: one in every per-request histogram, but for the end-to-end latency where
   * nobody saw it arrive. To be called once.
   */
  protected recordSamples(reason: FinishReason, latencies: RequestLatencies): void {
    const { context } = this;
    const { series } = this.host;
    const generated = this.#generatedTokens;
    series.success[reason].add(1);
    if (this.#corrupted) series.corrupted.add(1);
    series.requestNumPreemptions.record(this.#numPreemptions, context);
    series.requestPromptTokens.record(this.promptTokens, context);
    series.requestGenerationTokens.record(generated, context);
    series.requestPrefillKvComputedTokens.record(
      Math.max(this.promptTokens - Math.max(this.#cachedTokens, 0), 0),
      context,
    );
    if (this.#maxTokens > 0) series.requestParamsMaxTokens.record(this.#maxTokens, context);
    if (this.#sawArrival) series.e2eLatency.record(latencies.e2e, context);
    series.queueTime.record(latencies.queue, context);
    series.prefillTime.record(latencies.prefill, context);
    series.decodeTime.record(latencies.decode, context);
    series.inferenceTime.record(latencies.inference, context);
    series.requestTimePerOutputToken.record(generated > 1 ? latencies.decode / (generated - 1) : 0, context);
  }

  #trackFirstTokens(timestamp: number, receivedAt: number, prefill: PrefillStats | undefined): number {
    const { promptTokens } = this;
    const computedTokens = this.#countPrompt(
      prefill ?? { num_prompt_tokens: promptTokens, num_computed_tokens: promptTokens },
    );
    this.#prefilling = false;
    this.#timeToFirstToken = this.#sinceArrival(receivedAt);
    if (this.#sawArrival) this.host.series.timeToFirstToken.record(this.#timeToFirstToken, this.context);
    this.#firstTokenAt = timestamp;
    return computedTokens;
  }

  get #sawArrival(): boolean {
    return !Number.isNaN(this.#arrivalTime);
  }

  /** NaN where nobody saw the request arrive. */
  #sinceArrival(receivedAt: number): number {
    return this.#sawArrival ? interval(this.#arrivalTime, receivedAt) : Number.NaN;
  }

  #countPrompt(prefill: PrefillStats): number {
    const { series } = this.host;
    const cached = this.#tokens(prefill.num_cached_tokens);
    // Engines of old say how much was cached and no more: how long the prompt is, the frontend knew.
    const prompt =
      prefill.num_prompt_tokens === undefined ? this.promptTokens : this.#tokens(prefill.num_prompt_tokens);
    const computed =
      prefill.num_computed_tokens === undefined
        ? Math.max(prompt - cached, 0)
        : this.#tokens(prefill.num_computed_tokens);
    const localHit = this.#tokens(prefill.num_local_cached_tokens);
    const external = this.#tokens(prefill.num_external_cached_tokens);
    // All has been read: of statistics that can't be, nothing is counted.
    series.promptTokens.add(prompt);
    series.promptTokensCached.add(cached);
    series.promptTokensComputed.add(computed);
    series.promptTokensLocalHit.add(localHit);
    series.promptTokensExternal.add(external);
    return computed;
  }

  /** A token count of the engine; -1 is some versions' word for "not set". */
  #tokens(value: number | undefined): number {
    const tokens = tokensOrZero(value);
    if (tokens !== value && value !== undefined && value !== -1) {
      this.host.drops.count('invalidValue', value, 'a prefill statistic');
    }
    return tokens;
  }
}

function tokensOrZero(value: number | undefined): number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
