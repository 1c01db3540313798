import { INVALID_SPAN_CONTEXT, type Attributes, type Context, type Span } from '@opentelemetry/api';
import type { RequestHost } from './request-host.ts';
import type { RequestParameters } from './request-options.ts';
import { toHrTime } from './time-input.ts';
import { UnrecordedSpan } from './unrecorded-span.ts';

/** vLLM's name of a request's span. */
const SPAN_NAME = 'llm_request';

/** Starts the span of a request under the span of `parent`. A tracer that throws is counted; the span is then none. */
export function startRequestSpan(
  host: RequestHost,
  parameters: RequestParameters,
  requestId: string,
  arrivalTime: number,
  parent: Context,
): Span {
  try {
    const span = host.tracer.startSpan(
      SPAN_NAME,
      {
        kind: host.spanKind,
        startTime: toHrTime(arrivalTime),
        attributes: requestAttributes(host, parameters, requestId),
      },
      parent,
    );
    // A tracer may hand out one no-op span to everybody; a request needs one whose end is its own.
    return span.isRecording() ? span : new UnrecordedSpan(span.spanContext(), host.drops);
  } catch (error) {
    host.drops.count('providerError', error);
    return new UnrecordedSpan(INVALID_SPAN_CONTEXT, host.drops);
  }
}

/** What a request's span says from its start. */
export function requestAttributes(
  host: RequestHost,
  parameters: RequestParameters,
  requestId: string,
): Attributes {
  const { maxTokens, n, temperature, topP, loraName } = parameters;
  return {
    'gen_ai.request.id': requestId,
    'gen_ai.request.model': host.modelName,
    'gen_ai.request.n': n,
    'gen_ai.request.choice.count': n,
    ...(maxTokens === undefined ? {} : { 'gen_ai.request.max_tokens': maxTokens }),
    ...(temperature === undefined ? {} : { 'gen_ai.request.temperature': temperature }),
    ...(topP === undefined ? {} : { 'gen_ai.request.top_p': topP }),
    ...(loraName === undefined ? {} : { 'vllm.request.lora_name': loraName }),
    'vllm.engine.index': host.index,
    ...parameters.attributes,
  };
}
