import { SpanStatusCode, type Attributes, type Span } from '@opentelemetry/api';
import type { FinishReason } from './finish-reason.ts';
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
 * Writes how a request ended into its span.
 *
 * @param byApplication - Whether the application ends the span: what it says of its own error then stands.
 */
export function describeEnd(span: Span, summary: RequestSummary, byApplication: boolean): void {
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
