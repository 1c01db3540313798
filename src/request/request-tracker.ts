import type { Context } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import { interval } from './clock.ts';
import type { FinishReason } from './finish-reason.ts';
import type { PrefillStats } from './prefill-stats.ts';
import type { RequestEvent } from './request-event.ts';
import type { RequestSeries } from './request-series.ts';

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

/**
 * The numbers of one engine request, from arrival to end, and the samples they become. A preemption resets no
 * timestamp: the pause shows as one long inter-token latency, inside decode and inference time.
 *
 * Times left unset are NaN, since an engine's monotonic clock may well start at 0.
 */
export class RequestTracker {
  readonly arrivalTime: number;
  readonly #series: RequestSeries;
  readonly #drops: Drops;
  readonly #maxTokens: number;
  #promptTokens: number;
  #prefilling = true;
  #numPreemptions = 0;
  #generatedTokens = 0;
  #cachedTokens = -1;
  #corrupted = false;
  #queuedAt = Number.NaN;
  #scheduledAt = Number.NaN;
  #firstTokenAt = Number.NaN;
  #lastTokenAt = Number.NaN;
  #timeToFirstToken = 0;

  /**
   * @param arrivalTime - Wall clock, seconds since the epoch; NaN where nobody saw the request arrive.
   * @param promptTokens - Prompt length; undefined to take the engine's prefill statistics' word for it.
   * @param maxTokens - The max_tokens parameter; undefined where the request set none.
   */
  constructor(
    series: RequestSeries,
    drops: Drops,
    arrivalTime: number,
    promptTokens: number | undefined,
    maxTokens: number | undefined,
  ) {
    this.#series = series;
    this.#drops = drops;
    this.arrivalTime = arrivalTime;
    this.#promptTokens = promptTokens ?? -1;
    this.#maxTokens = maxTokens ?? 0;
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

  /** Whether the first token is still to come. */
  get prefilling(): boolean {
    return this.#prefilling;
  }

  /** Counts the tokens of an output: the first step, before its events. */
  countTokens(tokens: number): void {
    this.#generatedTokens += tokens;
    this.#series.generationTokens.add(tokens);
  }

  /**
   * Applies one scheduler event: the second step.
   *
   * @param timestamp - Engine-monotonic seconds.
   */
  recordEvent(event: RequestEvent, timestamp: number): void {
    if (event === 'preempted') {
      this.#numPreemptions += 1;
      this.#series.numPreemptions.add(1);
      return;
    }
    // Engines repeat QUEUED for every chunk of a streamed input, and SCHEDULED after every preemption: the first stands.
    if (event === 'queued') {
      if (Number.isNaN(this.#queuedAt)) this.#queuedAt = timestamp;
    } else if (Number.isNaN(this.#scheduledAt)) this.#scheduledAt = timestamp;
  }

  /** Keeps what the first prefill statistics say of this request, whether or not tokens come with them. */
  notePrefill(prefill: PrefillStats): void {
    if (this.#cachedTokens < 0) this.#cachedTokens = tokensOrZero(prefill.num_cached_tokens);
    if (this.#promptTokens < 0) this.#promptTokens = tokensOrZero(prefill.num_prompt_tokens);
  }

  /**
   * Takes the times of an output that carries tokens: the last step. Allocates nothing.
   *
   * @param timestamp - Engine-monotonic seconds; NaN where it is not known.
   * @param receivedAt - Wall clock, seconds since the epoch.
   * @returns The prompt tokens that were computed for it: 0 but for a first output.
   */
  recordTokensAt(
    timestamp: number,
    receivedAt: number,
    prefill: PrefillStats | undefined,
    context: Context,
  ): number {
    let computedTokens = 0;
    if (this.#prefilling) {
      this.#prefilling = false;
      if (prefill !== undefined) computedTokens = this.#countPrompt(prefill);
      this.#timeToFirstToken = this.#sinceArrival(receivedAt);
      if (this.#sawArrival) this.#series.timeToFirstToken.record(this.#timeToFirstToken, context);
      this.#firstTokenAt = timestamp;
    } else {
      this.#series.interTokenLatency.record(interval(this.#lastTokenAt, timestamp), context);
    }
    if (!Number.isNaN(timestamp)) this.#lastTokenAt = timestamp;
    return computedTokens;
  }

  /** Notes that the logits of a step held NaN. */
  noteCorruption(): void {
    this.#corrupted = true;
  }

  /** The intervals as they stand. */
  latencies(receivedAt: number): RequestLatencies {
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
  recordEnd(reason: FinishReason, latencies: RequestLatencies, context: Context): void {
    const series = this.#series;
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

  get #sawArrival(): boolean {
    return !Number.isNaN(this.arrivalTime);
  }

  /** NaN where nobody saw the request arrive. */
  #sinceArrival(receivedAt: number): number {
    return this.#sawArrival ? interval(this.arrivalTime, receivedAt) : Number.NaN;
  }

  #countPrompt(prefill: PrefillStats): number {
    const series = this.#series;
    const cached = this.#tokens(prefill.num_cached_tokens);
    // Engines of old say how much was cached and no more: how long the prompt is, the frontend knew.
    const prompt =
      prefill.num_prompt_tokens === undefined ? this.promptTokens : this.#tokens(prefill.num_prompt_tokens);
    const computed =
      prefill.num_computed_tokens === undefined
        ? Math.max(prompt - cached, 0)
        : this.#tokens(prefill.num_computed_tokens);
    series.promptTokens.add(prompt);
    series.promptTokensCached.add(cached);
    series.promptTokensComputed.add(computed);
    series.promptTokensLocalHit.add(this.#tokens(prefill.num_local_cached_tokens));
    series.promptTokensExternal.add(this.#tokens(prefill.num_external_cached_tokens));
    return computed;
  }

  /** A token count of the engine; -1 is some versions' word for "not set". */
  #tokens(value: number | undefined): number {
    const tokens = tokensOrZero(value);
    if (tokens !== value && value !== undefined && value !== -1) {
      this.#drops.count('invalidValue', value, 'a prefill statistic');
    }
    return tokens;
  }
}

function tokensOrZero(value: number | undefined): number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
