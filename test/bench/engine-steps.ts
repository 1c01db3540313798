import { encode } from '@msgpack/msgpack';
import type { EngineCoreOutput, EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';

/** Outputs of one step, each of a token, where a benchmark has no reason for another number. */
export const OUTPUTS_PER_STEP = 256;

/** Seconds from step to step: decoding alone as a rule, now and then beside somebody's prefill. */
const GAPS = Float64Array.of(
  0.014,
  0.021,
  0.018,
  0.027,
  0.033,
  0.016,
  0.095,
  0.022,
  0.019,
  0.041,
  0.024,
  0.29,
);

/** Request ids as vLLM makes them, in strings of their own. */
export function requestIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    copyOf(`chatcmpl-${(0x9e3779b9 * (index + 1)).toString(16).padStart(32, '0')}`),
  );
}

/** The statistics that come with a step, all of them there. */
export interface StepStats {
  readonly num_running_reqs: number;
  readonly num_waiting_reqs: number;
  readonly num_skipped_waiting_reqs: number;
  readonly kv_cache_usage: number;
  readonly prefix_cache_stats: { readonly queries: number; readonly hits: number };
}

/** The statistics of every step here. */
export const STATS: StepStats = {
  num_running_reqs: OUTPUTS_PER_STEP,
  num_waiting_reqs: 3,
  num_skipped_waiting_reqs: 1,
  kv_cache_usage: 0.625,
  prefix_cache_stats: { queries: 12, hits: 8 },
};

/** A message that has everything. */
export interface StepMessage extends EngineCoreOutputs {
  readonly outputs: readonly (EngineCoreOutput & { readonly new_token_ids: { readonly length: number } })[];
  readonly scheduler_stats: StepStats;
  readonly timestamp: number;
}

/** Requests of one engine that get a token each in one step. */
export interface StepRequests {
  readonly engine: number;
  readonly ids: readonly string[];
}

/** The 256 requests that most of the works here are about. */
export function decodingRequests(): StepRequests {
  return { engine: 0, ids: requestIds(OUTPUTS_PER_STEP) };
}

/**
 * Steps of engines in decode. No message comes twice, since nobody has seen the strings of a real one before: a look-up
 * by a new string costs more than one by a string whose hash is known.
 */
export class EngineSteps {
  readonly #requests: readonly StepRequests[];
  readonly #clock = new StepClock();
  #prepared: readonly StepMessage[] = [];
  #taken = 0;
  #steps = 0;
  #now = 0;

  /** @param requests - Each has its turn; all of one round get the same time, so that many add no latency. */
  constructor(requests: readonly StepRequests[]) {
    this.#requests = requests;
  }

  /** Makes so many messages, in the place of those that were not taken. */
  prepare(count: number): void {
    this.#taken = 0;
    this.#prepared = Array.from({ length: count }, () => this.#message());
  }

  /** The next one of those prepared. */
  next(): StepMessage {
    const message = this.#prepared[this.#taken];
    if (message === undefined) throw new Error('more messages were taken than prepared');
    this.#taken += 1;
    return message;
  }

  #message(): StepMessage {
    const turn = this.#steps % this.#requests.length;
    this.#steps += 1;
    if (turn === 0) this.#now = this.#clock.tick();
    const { engine, ids } = this.#requests[turn]!;
    return {
      engine_index: engine,
      outputs: ids.map((id) => ({ request_id: copyOf(id), new_token_ids: ONE_TOKEN })),
      scheduler_stats: STATS,
      timestamp: this.#now,
    };
  }
}

const ONE_TOKEN: readonly number[] = [100_000];

/** A string of its own, as a decoder makes one. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** The same steps of one engine as frames. */
export class FrameSteps {
  readonly #frame: Buffer;
  readonly #clock = new StepClock();

  constructor({ engine, ids }: StepRequests) {
    const outputs = ids.map((id) => [id, ONE_TOKEN]);
    // The time is what comes last, as a float64: a whole number would be written as an integer.
    this.#frame = Buffer.from(encode([engine, outputs, STATS, 0.5]));
  }

  /** The frame of the next step; its bytes are those of the one before, but for the time. */
  next(): Buffer {
    this.#frame.writeDoubleBE(this.#clock.tick(), this.#frame.length - 8);
    return this.#frame;
  }
}

/** The engine's monotonic clock, from step to step. */
class StepClock {
  #step = 0;
  #now = 1000;

  tick(): number {
    this.#now += GAPS[this.#step % GAPS.length]!;
    this.#step += 1;
    return this.#now;
  }
}
