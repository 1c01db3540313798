import type { SimulationEvent } from '../../../examples/simulated-engine/simulation.ts';
import type { RequestRecord } from '../../../examples/simulated-engine/request-log.ts';
import type {
  EngineCoreEvent,
  EngineCoreOutput,
  EngineCoreOutputs,
  EngineMetrics,
  FinishReason,
  PrefillStats,
  SchedulerStats,
  VllmInstrumentation,
} from '../../../src/index.ts';

/**
 * What a frontend is told of a request: the simulator's record, changed as {@link TellingRun} changes the messages.
 */
export interface ToldRequest extends Omit<RequestRecord, 'finishReason'> {
  readonly finishReason: FinishReason | undefined;
  readonly preemptions: number;
  /** Prompt tokens that the engine computed, found in its own cache, and got from another engine. */
  readonly computedTokens: number;
  readonly localTokens: number;
  readonly externalTokens: number;
  readonly isCorrupted: boolean;
}

/** Each preemption of every second request is told so many times: the simulator's scheduler is too fair to thrash. */
const TIMES_PREEMPTED = 5;

const MODEL_REASONS = { 0: 'stop', 1: 'length', 3: 'error', 4: 'repetition' } as const;

/** Media items of one look-up in the frontend's own cache, and how many of them were there. */
export const MULTI_MODAL_LOOK_UP = { queries: 4, hits: 3 } as const;

/** What the drafter of each engine step proposed, and what was accepted of it. */
export const DRAFTS = {
  num_spec_tokens: 3,
  num_drafts: 10,
  num_draft_tokens: 30,
  num_accepted_tokens: 15,
  num_accepted_tokens_per_pos: [8, 5, 2],
} as const;

/** The look-ups of each engine step in a cache that several engines share. */
export const EXTERNAL_LOOK_UP = {
  requests: 1,
  queries: 100,
  hits: 25,
  hits_by_source: { host: 15, p2p: 4, disk: 5, external_unspecified: 1 },
} as const;

/**
 * Tells an instrumentation more than the simulated engines do, so that every metric of the catalogue has values: the
 * same in each run, and such that the simulator's records still say what the numbers must be.
 */
export class TellingRun {
  readonly #vllm: VllmInstrumentation;

  /** Shows every series at once: a rate can't see what a series is born with. */
  constructor(vllm: VllmInstrumentation, engines: readonly number[]) {
    this.#vllm = vllm;
    for (const index of engines) {
      const engine = vllm.engine(index);
      engine.recordSchedulerStats({ ...moreStats(0), num_skipped_waiting_reqs: 0 });
      engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 700 + index, enable_prefix_caching: true });
      this.#tellFrontend(engine);
    }
  }

  /** The event as the frontend is to get it; what is not in messages goes to the instrumentation at once. */
  tell(event: SimulationEvent): SimulationEvent {
    if (event.kind !== 'message') return event;
    const { message } = event;
    const engine = this.#vllm.engine(message.engine_index ?? 0);
    const step = message.scheduler_stats?.step_counter ?? 0;
    if (step % 10 === 0) this.#tellFrontend(engine);
    if (step % 1000 === 0) engine.recordSleep(1);
    if (step % 1000 === 500) engine.recordSleep(2);
    return { ...event, message: toldMessage(message, step) };
  }

  #tellFrontend(engine: EngineMetrics): void {
    engine.recordMultiModalCacheStats(MULTI_MODAL_LOOK_UP);
    this.#vllm.recordToolCallParserInvocation({
      mode: 'streaming',
      outcome: 'tool_call',
      requestType: 'chat_completions',
    });
  }
}

/** What the frontend was told of the simulator's request. */
export function toldOf(record: RequestRecord): ToldRequest {
  const { id, promptTokens, finishReason, reported } = record;
  const prefill = toldPrefill(id, {
    num_prompt_tokens: promptTokens,
    num_computed_tokens: promptTokens - (reported.cachedTokens ?? 0),
    num_local_cached_tokens: reported.cachedTokens ?? 0,
  });
  const code = finishReason === 'stop' ? 0 : finishReason === 'length' ? 1 : undefined;
  return {
    ...record,
    finishReason: code === undefined ? finishReason : MODEL_REASONS[toldFinish(id, code)],
    preemptions: reported.preemptions * timesPreempted(id),
    computedTokens: prefill.num_computed_tokens!,
    localTokens: prefill.num_local_cached_tokens!,
    externalTokens: prefill.num_external_cached_tokens!,
    isCorrupted: isCorrupted(id) && reported.generatedTokens > 0,
  };
}

function toldMessage(message: EngineCoreOutputs, step: number): EngineCoreOutputs {
  return {
    ...message,
    outputs: message.outputs?.map(toldOutput),
    scheduler_stats: { ...message.scheduler_stats, ...moreStats(step) },
  };
}

function toldOutput(output: EngineCoreOutput): EngineCoreOutput {
  const { request_id: id, finish_reason: reason, events, prefill_stats: prefill } = output;
  return {
    ...output,
    finish_reason: reason === 0 || reason === 1 ? toldFinish(id, reason) : reason,
    events: events?.flatMap((event) => toldEvents(id, event)),
    prefill_stats: prefill && toldPrefill(id, prefill),
    num_nans_in_logits: isCorrupted(id) ? 1 : 0,
  };
}

function toldFinish(id: string, code: 0 | 1): keyof typeof MODEL_REASONS {
  if (numberOf(id) % 17 === 0) return 3;
  return numberOf(id) % 13 === 0 ? 4 : code;
}

function toldEvents(id: string, event: EngineCoreEvent): EngineCoreEvent[] {
  return Array.from({ length: event.type === 3 ? timesPreempted(id) : 1 }, () => event);
}

/** Of every third request, half of what had been computed comes from another engine. */
function toldPrefill(id: string, stats: PrefillStats): PrefillStats {
  const external = numberOf(id) % 3 === 0 ? Math.floor(stats.num_computed_tokens! / 2) : 0;
  return {
    ...stats,
    num_computed_tokens: stats.num_computed_tokens! - external,
    num_cached_tokens: stats.num_local_cached_tokens! + external,
    num_external_cached_tokens: external,
  };
}

function timesPreempted(id: string): number {
  return numberOf(id) % 2 === 0 ? TIMES_PREEMPTED : 1;
}

function isCorrupted(id: string): boolean {
  return numberOf(id) % 29 === 0;
}

/** Of `request-17`, 17. */
function numberOf(id: string): number {
  return Number(/\d+$/.exec(id)![0]);
}

function moreStats(step: number): SchedulerStats {
  return {
    num_skipped_waiting_reqs: step % 7,
    num_kv_fetch_reqs_by_stage: { waiting_to_start: step % 3, in_progress: step % 2, completed_waiting: 1 },
    connector_prefix_cache_stats: EXTERNAL_LOOK_UP,
    spec_decoding_stats: DRAFTS,
    kv_cache_eviction_events: [
      { lifetime_seconds: 1 + (step % 100), idle_seconds: 0.5, reuse_gaps_seconds: [0.1, 0.2] },
    ],
    perf_stats: {
      num_flops_per_gpu: 1_000_000_000,
      num_read_bytes_per_gpu: 2_000_000,
      num_write_bytes_per_gpu: 3_000_000,
    },
    kv_connector_stats: {
      NixlConnector: {
        data: {
          transfer_duration: [0.01],
          post_duration: [0.001],
          bytes_transferred: [4_000_000],
          num_descriptors: [100],
          num_failed_transfers: [1],
          num_failed_notifications: [1],
          num_kv_expired_reqs: [1],
        },
      },
      MooncakeStoreConnector: {
        data: {
          load_get: [
            { duration_seconds: 0.02, num_keys: 3, num_bytes: 1_000_000, status: 'ok', num_failed_keys: 1 },
          ],
        },
      },
      OffloadingConnector: {
        data: {
          load_bytes: 250_000_000,
          load_time: 0.05,
          load_size: [500_000, 150_000_000, 99_500_000],
          store_bytes: 3_000_000,
          store_time: 0.01,
          store_size: [3_000_000],
          stores_skipped: 1,
        },
      },
    },
  };
}
