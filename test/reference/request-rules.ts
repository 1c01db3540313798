import type { EngineCoreOutput, FinishReason, StartRequestOptions } from '../../src/index.ts';
import { noteAdapters } from './lora-rule.ts';
import type { Model, ModelEngine, ModelRequest, UserRequest } from './model.ts';
import { prefillOf, promptOf, takePrefill } from './prefill-rules.ts';
import { endRequest, interval } from './request-end.ts';
import { add, observe } from './series.ts';

/** A request begins, or its n choices under ids of their own. */
export function startRequest(
  model: Model,
  engine: ModelEngine,
  options: StartRequestOptions & { readonly requestId: string },
): readonly ModelRequest[] {
  const { requestId, n = 1, arrivalTime = model.wall } = options;
  const user = { n, open: n, longest: 0 };
  const ids = n === 1 ? [requestId] : Array.from({ length: n }, (_, choice) => `${choice}_${requestId}`);
  const requests = ids.map((id) => begin(engine, id, user, options, arrivalTime));
  noteAdapters(model);
  return requests;
}

function begin(
  engine: ModelEngine,
  id: string,
  user: UserRequest,
  { promptTokens, maxTokens, loraName }: Omit<StartRequestOptions, 'requestId'>,
  arrival: number | undefined,
): ModelRequest {
  const request: ModelRequest = {
    id,
    user,
    reachable: find(engine, id) === undefined,
    promptTokens,
    maxTokens,
    loraName,
    arrival,
    adapterIs: undefined,
    prefilling: true,
    prefill: undefined,
    queued: undefined,
    scheduled: undefined,
    firstToken: undefined,
    lastToken: undefined,
    generated: 0,
    preemptions: 0,
    corrupted: false,
  };
  engine.live.add(request);
  engine.served = true;
  return request;
}

/** The live request that the engine means by an id. */
export function find(engine: ModelEngine, id: string): ModelRequest | undefined {
  return [...engine.live].find((request) => request.reachable && request.id === id);
}

/**
 * Applies an output to the request it names.
 *
 * @returns The tokens that it adds to its batch: new ones, and those computed of the prompt.
 */
export function takeOutput(
  model: Model,
  engine: ModelEngine,
  output: EngineCoreOutput,
  timestamp: number,
  receivedAt: number,
): number {
  const request = find(engine, output.request_id) ?? beginUnknown(model, engine, output.request_id);
  if (request === undefined) return 0;
  const length = output.new_token_ids?.length ?? 0;
  // A length that can't be is none; what happened to the request happened all the same.
  const tokens = Number.isInteger(length) && length >= 0 ? length : 0;
  // The first ones stand, also where nothing counts them because their output has no tokens.
  if (output.prefill_stats) request.prefill ??= prefillOf(request, output.prefill_stats);
  countTokens(model, engine, request, tokens);
  applyEvents(model, engine, request, output);
  const computed = tokens > 0 ? takeTokens(model, engine, request, output, timestamp, receivedAt) : 0;
  if ((output.num_nans_in_logits ?? 0) > 0) request.corrupted = true;
  const reason = finishReasonOf(output.finish_reason);
  if (reason !== undefined) endRequest(model, engine, request, reason, receivedAt);
  return tokens + computed;
}

/** An id that nobody started begins with its first output, but none of a request that has ended begins another. */
function beginUnknown(model: Model, engine: ModelEngine, id: string): ModelRequest | undefined {
  if (!model.options.trackUnknownRequests || engine.ended.has(id)) return undefined;
  return begin(engine, id, { n: 1, open: 1, longest: 0 }, {}, undefined);
}

function countTokens(model: Model, engine: ModelEngine, request: ModelRequest, tokens: number): void {
  request.generated += tokens;
  add(model.series, 'vllm:generation_tokens', engine.labels, tokens);
}

/** The first QUEUED and the first SCHEDULED set their times; each PREEMPTED counts. Each moves the adapter. */
function applyEvents(
  model: Model,
  engine: ModelEngine,
  request: ModelRequest,
  output: EngineCoreOutput,
): void {
  for (const { type, timestamp } of output.events ?? []) {
    if (type === 1) {
      request.queued ??= timestamp;
      request.adapterIs = 'waiting';
    } else if (type === 2) {
      request.scheduled ??= timestamp;
      request.adapterIs = 'running';
    } else if (type === 3) {
      request.preemptions += 1;
      add(model.series, 'vllm:num_preemptions', engine.labels, 1);
      request.adapterIs = 'waiting';
    }
    noteAdapters(model);
  }
}

/**
 * The first output with tokens ends the prefill: prompt counters, of the whole prompt where an engine of old says nothing
 * of it, and time to first token. Each later one is one
 * inter-token latency, however many tokens it has.
 *
 * @returns The computed prompt tokens.
 */
function takeTokens(
  model: Model,
  engine: ModelEngine,
  request: ModelRequest,
  output: EngineCoreOutput,
  timestamp: number,
  receivedAt: number,
): number {
  const { series } = model;
  let computed = 0;
  if (request.prefilling) {
    const whole = promptOf(request);
    const stats = output.prefill_stats ?? { num_prompt_tokens: whole, num_computed_tokens: whole };
    computed = takePrefill(model, engine, request, stats);
    if (request.arrival !== undefined) {
      observe(
        series,
        'vllm:time_to_first_token_seconds',
        engine.labels,
        interval(request.arrival, receivedAt),
      );
    }
    request.firstToken = timestamp;
    request.prefilling = false;
  } else {
    observe(
      series,
      'vllm:inter_token_latency_seconds',
      engine.labels,
      interval(request.lastToken, timestamp),
    );
  }
  request.lastToken = timestamp;
  return computed;
}

/** The reason of a wire code. A code that nobody knows yet is likely a new way to stop. */
function finishReasonOf(code: number | null | undefined): FinishReason | undefined {
  if (code === null || code === undefined) return undefined;
  return (['stop', 'length', 'abort', 'error', 'repetition'] as const)[code] ?? 'stop';
}
