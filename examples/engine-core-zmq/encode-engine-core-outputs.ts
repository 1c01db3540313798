import { Encoder } from '@msgpack/msgpack';
import type { EngineCoreOutput, EngineCoreOutputs, SchedulerStats } from 'opentelemetry-instrumentation-vllm';

const encoder = new Encoder({ useBigInt64: true, ignoreUndefined: true });

/**
 * Encodes a message as vLLM's engine core does: messages and outputs as arrays by position, of which the defaults at
 * the end are left out and those in between written, and what is below them as maps.
 */
export function encodeEngineCoreOutputs(message: EngineCoreOutputs): Uint8Array {
  const { finished_requests: finished } = message;
  const fields = [
    message.engine_index ?? 0,
    (message.outputs ?? []).map(toFields),
    message.scheduler_stats ? { ...NO_STATS, ...message.scheduler_stats } : null,
    message.timestamp ?? 0,
    null, // utility_output
    finished ? [...finished] : null,
  ];
  return encoder.encode(withoutTrailingDefaults(fields, MESSAGE_DEFAULTS));
}

function toFields(output: EngineCoreOutput): readonly unknown[] {
  const fields = [
    output.request_id,
    Array.from((output.new_token_ids ?? []) as ArrayLike<number>),
    null, // new_logprobs
    null, // new_prompt_logprobs_tensors
    null, // pooling_output
    output.finish_reason ?? null,
    null, // stop_reason
    output.events ?? null,
    null, // kv_transfer_params
    null, // ec_transfer_params
    output.trace_headers ?? null,
    output.prefill_stats ?? null,
    null, // routed_experts
    output.num_nans_in_logits ?? 0,
  ];
  return withoutTrailingDefaults(fields, OUTPUT_DEFAULTS);
}

const MESSAGE_DEFAULTS: readonly unknown[] = [0, [], null, 0, null, null];

/** The first two have none: they are always written. */
const OUTPUT_DEFAULTS: readonly unknown[] = [undefined, undefined, ...Array<null>(11).fill(null), 0];

/** Maps have no positions, and are written whole. */
const NO_STATS: SchedulerStats = {
  num_running_reqs: 0,
  num_waiting_reqs: 0,
  num_skipped_waiting_reqs: 0,
  step_counter: 0,
  current_wave: 0,
  kv_cache_usage: 0,
  prefix_cache_stats: null,
  connector_prefix_cache_stats: null,
  kv_cache_eviction_events: [],
  spec_decoding_stats: null,
  kv_connector_stats: null,
  cudagraph_stats: null,
  perf_stats: null,
};

function withoutTrailingDefaults(
  fields: readonly unknown[],
  defaults: readonly unknown[],
): readonly unknown[] {
  let { length } = fields;
  while (length > 0 && isDefault(fields[length - 1], defaults[length - 1])) length -= 1;
  return fields.slice(0, length);
}

function isDefault(value: unknown, byDefault: unknown): boolean {
  return Array.isArray(value) && Array.isArray(byDefault)
    ? value.length === byDefault.length
    : value === byDefault;
}
