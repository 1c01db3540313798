import type { HistogramSeries, NumberSeries, SeriesAttributes } from '../metrics/series.ts';
import type { SeriesStore } from '../metrics/series-store.ts';
import { FINISH_REASONS, type FinishReason } from './finish-reason.ts';

/** The series that requests of one engine move, resolved once. */
export class RequestSeries {
  readonly numPreemptions: NumberSeries;
  readonly generationTokens: NumberSeries;
  readonly promptTokens: NumberSeries;
  readonly promptTokensCached: NumberSeries;
  readonly promptTokensComputed: NumberSeries;
  readonly promptTokensLocalHit: NumberSeries;
  readonly promptTokensExternal: NumberSeries;
  readonly corrupted: NumberSeries;
  readonly success: Readonly<Record<FinishReason, NumberSeries>>;

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
  constructor(store: SeriesStore, base: SeriesAttributes) {
    const bySource = (source: string): NumberSeries =>
      store.number('vllm:prompt_tokens_by_source', Object.freeze({ ...base, source }));
    this.numPreemptions = store.number('vllm:num_preemptions', base);
    this.generationTokens = store.number('vllm:generation_tokens', base);
    this.promptTokens = store.number('vllm:prompt_tokens', base);
    this.promptTokensCached = store.number('vllm:prompt_tokens_cached', base);
    this.promptTokensComputed = bySource('local_compute');
    this.promptTokensLocalHit = bySource('local_cache_hit');
    this.promptTokensExternal = bySource('external_kv_transfer');
    this.corrupted = store.number('vllm:corrupted_requests', base);
    this.success = Object.fromEntries(
      FINISH_REASONS.map((reason) => [
        reason,
        store.number('vllm:request_success', Object.freeze({ ...base, finished_reason: reason })),
      ]),
    ) as Record<FinishReason, NumberSeries>;

    this.timeToFirstToken = store.histogram('vllm:time_to_first_token_seconds', base);
    this.interTokenLatency = store.histogram('vllm:inter_token_latency_seconds', base);

    this.requestNumPreemptions = store.histogram('vllm:request_num_preemptions', base);
    this.requestPromptTokens = store.histogram('vllm:request_prompt_tokens', base);
    this.requestGenerationTokens = store.histogram('vllm:request_generation_tokens', base);
    this.requestMaxGenerationTokens = store.histogram('vllm:request_max_num_generation_tokens', base);
    this.requestPrefillKvComputedTokens = store.histogram('vllm:request_prefill_kv_computed_tokens', base);
    this.requestParamsN = store.histogram('vllm:request_params_n', base);
    this.requestParamsMaxTokens = store.histogram('vllm:request_params_max_tokens', base);
    this.requestTimePerOutputToken = store.histogram('vllm:request_time_per_output_token_seconds', base);
    this.e2eLatency = store.histogram('vllm:e2e_request_latency_seconds', base);
    this.queueTime = store.histogram('vllm:request_queue_time_seconds', base);
    this.inferenceTime = store.histogram('vllm:request_inference_time_seconds', base);
    this.prefillTime = store.histogram('vllm:request_prefill_time_seconds', base);
    this.decodeTime = store.histogram('vllm:request_decode_time_seconds', base);
  }
}
