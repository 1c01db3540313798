import type { CounterSeries } from '../metrics/counter-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import { FINISH_REASONS, type FinishReason } from './finish-reason.ts';

/** The series that requests of one engine move, resolved once. */
export class RequestSeries {
  readonly numPreemptions: CounterSeries;
  readonly generationTokens: CounterSeries;
  readonly promptTokens: CounterSeries;
  readonly promptTokensCached: CounterSeries;
  readonly promptTokensComputed: CounterSeries;
  readonly promptTokensLocalHit: CounterSeries;
  readonly promptTokensExternal: CounterSeries;
  readonly corrupted: CounterSeries;
  readonly success: Readonly<Record<FinishReason, CounterSeries>>;

  readonly timeToFirstToken: HistogramSeries;
  readonly interTokenLatency: HistogramSeries;

  readonly requestNumPreemptions: HistogramSeries;
  readonly requestPromptTokens: HistogramSeries;
  readonly requestGenerationTokens: HistogramSeries;
  readonly requestMaxGenerationTokens: HistogramSeries;
  readonly requestPrefillKvComputedTokens: HistogramSeries;
  readonly requestParamsN: HistogramSeries;
  readonly requestParamsMaxTokens: HistogramSeries;
  readonly requestTimePerOutputToken: HistogramSeries;
  readonly e2eLatency: HistogramSeries;
  readonly queueTime: HistogramSeries;
  readonly inferenceTime: HistogramSeries;
  readonly prefillTime: HistogramSeries;
  readonly decodeTime: HistogramSeries;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes) {
    const bySource = (source: string): CounterSeries =>
      group.counter('vllm:prompt_tokens_by_source', Object.freeze({ ...base, source }));
    this.numPreemptions = group.counter('vllm:num_preemptions', base);
    this.generationTokens = group.counter('vllm:generation_tokens', base);
    this.promptTokens = group.counter('vllm:prompt_tokens', base);
    this.promptTokensCached = group.counter('vllm:prompt_tokens_cached', base);
    this.promptTokensComputed = bySource('local_compute');
    this.promptTokensLocalHit = bySource('local_cache_hit');
    this.promptTokensExternal = bySource('external_kv_transfer');
    this.corrupted = group.counter('vllm:corrupted_requests', base);
    this.success = Object.fromEntries(
      FINISH_REASONS.map((reason) => [
        reason,
        group.counter('vllm:request_success', Object.freeze({ ...base, finished_reason: reason })),
      ]),
    ) as Record<FinishReason, CounterSeries>;

    this.timeToFirstToken = group.histogram('vllm:time_to_first_token_seconds', base);
    this.interTokenLatency = group.histogram('vllm:inter_token_latency_seconds', base);

    this.requestNumPreemptions = group.histogram('vllm:request_num_preemptions', base);
    this.requestPromptTokens = group.histogram('vllm:request_prompt_tokens', base);
    this.requestGenerationTokens = group.histogram('vllm:request_generation_tokens', base);
    this.requestMaxGenerationTokens = group.histogram('vllm:request_max_num_generation_tokens', base);
    this.requestPrefillKvComputedTokens = group.histogram('vllm:request_prefill_kv_computed_tokens', base);
    this.requestParamsN = group.histogram('vllm:request_params_n', base);
    this.requestParamsMaxTokens = group.histogram('vllm:request_params_max_tokens', base);
    this.requestTimePerOutputToken = group.histogram('vllm:request_time_per_output_token_seconds', base);
    this.e2eLatency = group.histogram('vllm:e2e_request_latency_seconds', base);
    this.queueTime = group.histogram('vllm:request_queue_time_seconds', base);
    this.inferenceTime = group.histogram('vllm:request_inference_time_seconds', base);
    this.prefillTime = group.histogram('vllm:request_prefill_time_seconds', base);
    this.decodeTime = group.histogram('vllm:request_decode_time_seconds', base);
  }
}
