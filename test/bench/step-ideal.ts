import { TOKEN_GAP_SECONDS_BOUNDARIES } from '../../src/metrics/boundaries.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import {
  EngineSteps,
  OUTPUTS_PER_STEP,
  requestIds,
  decodingRequests,
  type StepStats,
} from './engine-steps.ts';
import type { Candidate } from './candidate.ts';
import { stepCounts } from './step-counts.ts';
import type { TotalsByName } from './totals.ts';

/**
 * How fast the same sums can be at best: requests are numbers, tokens are counts in an array, everything is kept in
 * typed arrays, and nothing is checked.
 */
export function idealLoop(): Candidate {
  const ideal = new IdealSeries();
  const steps = new EngineSteps([{ engine: 0, ids: [] }]);
  const tokensOf = new Uint32Array(OUTPUTS_PER_STEP).fill(1);
  return {
    name: 'ideal loop, requests by number',
    prepare: (units) => steps.prepare(units),
    run: () => {
      const { timestamp, scheduler_stats: stats } = steps.next();
      let tokens = 0;
      for (let slot = 0; slot < OUTPUTS_PER_STEP; slot += 1) {
        tokens += tokensOf[slot]!;
        ideal.recordOutput(slot, timestamp);
      }
      ideal.recordStep(tokens, stats);
    },
    counts: async () => stepCounts(ideal.totals()),
  };
}

/** The same for messages that name requests by id, with one look-up for each output. */
export function idealLoopById(): Candidate {
  const ideal = new IdealSeries();
  const steps = new EngineSteps([decodingRequests()]);
  const slots = new Map(requestIds(OUTPUTS_PER_STEP).map((id, slot) => [id, slot]));
  return {
    name: 'ideal loop, requests by id',
    prepare: (units) => steps.prepare(units),
    run: () => {
      const { outputs, timestamp, scheduler_stats: stats } = steps.next();
      let tokens = 0;
      for (let position = 0; position < outputs.length; position += 1) {
        const { request_id: id, new_token_ids: ids } = outputs[position]!;
        tokens += ids.length;
        ideal.recordOutput(slots.get(id)!, timestamp);
      }
      ideal.recordStep(tokens, stats);
    },
    counts: async () => stepCounts(ideal.totals()),
  };
}

/** The series of one engine as arrays of numbers. */
class IdealSeries {
  readonly #lastTokenAt = new Float64Array(OUTPUTS_PER_STEP).fill(-1);
  readonly #latencies = new IdealHistogram(TOKEN_GAP_SECONDS_BOUNDARIES);
  readonly #iterations = new IdealHistogram(boundariesOfIterations());
  readonly #gauges = new Float64Array(5);
  readonly #counters = new Float64Array(4);

  recordOutput(slot: number, timestamp: number): void {
    const last = this.#lastTokenAt[slot]!;
    if (last < 0) this.#counters[FIRST_TOKENS]! += 1;
    else this.#latencies.record(timestamp - last);
    this.#lastTokenAt[slot] = timestamp;
  }

  recordStep(tokens: number, stats: StepStats): void {
    const gauges = this.#gauges;
    const counters = this.#counters;
    this.#iterations.record(tokens);
    gauges[0] = stats.num_running_reqs;
    gauges[1] = stats.num_waiting_reqs + stats.num_skipped_waiting_reqs;
    gauges[2] = stats.num_waiting_reqs;
    gauges[3] = stats.num_skipped_waiting_reqs;
    gauges[4] = stats.kv_cache_usage;
    counters[TOKENS]! += tokens;
    counters[QUERIES]! += stats.prefix_cache_stats.queries;
    counters[HITS]! += stats.prefix_cache_stats.hits;
  }

  totals(): TotalsByName {
    const [running, waiting, capacity, deferred, kvCacheUsage] = this.#gauges;
    const number = (count = Number.NaN) => ({ count, sum: 0, positions: 0 });
    return new Map([
      ['vllm:generation_tokens', number(this.#counters[TOKENS])],
      ['vllm:time_to_first_token_seconds', number(this.#counters[FIRST_TOKENS])],
      ['vllm:inter_token_latency_seconds', this.#latencies.totals()],
      ['vllm:iteration_tokens_total', this.#iterations.totals()],
      ['vllm:num_requests_running', number(running)],
      ['vllm:num_requests_waiting', number(waiting)],
      ['vllm:num_requests_waiting_by_reason', number(capacity! + deferred!)],
      ['vllm:kv_cache_usage_perc', number(kvCacheUsage)],
      ['vllm:prefix_cache_queries', number(this.#counters[QUERIES])],
      ['vllm:prefix_cache_hits', number(this.#counters[HITS])],
    ]);
  }
}

const TOKENS = 0;
const FIRST_TOKENS = 1;
const QUERIES = 2;
const HITS = 3;

/** A count per bucket and a sum, in two arrays. */
class IdealHistogram {
  readonly #upper: Float64Array;
  readonly #counts: Float64Array;
  readonly #sum = new Float64Array(1);

  constructor(boundaries: readonly number[]) {
    this.#upper = Float64Array.of(...boundaries, Infinity);
    this.#counts = new Float64Array(this.#upper.length);
  }

  record(value: number): void {
    const upper = this.#upper;
    let bucket = 0;
    while (upper[bucket]! < value) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum[0]! += value;
  }

  totals(): { count: number; sum: number; positions: number } {
    return {
      count: this.#counts.reduce((total, count) => total + count, 0),
      sum: this.#sum[0]!,
      positions: this.#counts.reduce((total, count, position) => total + count * position, 0),
    };
  }
}

function boundariesOfIterations(): readonly number[] {
  const metric = catalogue.find(({ name }) => name === 'vllm:iteration_tokens_total');
  return metric?.kind === 'histogram' ? metric.boundaries : [];
}
