import { Decoder } from '@msgpack/msgpack';
import type { Attributes, Counter, Gauge, Histogram } from '@opentelemetry/api';
import { Unpackr } from 'msgpackr';
import {
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
  type Metric as PromMetric,
} from 'prom-client';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import type { Metric } from '../../src/metrics/metric.ts';
import {
  EngineSteps,
  FrameSteps,
  OUTPUTS_PER_STEP,
  requestIds,
  decodingRequests,
  type StepStats,
} from './engine-steps.ts';
import type { Candidate } from './candidate.ts';
import { plainSdk } from './metering.ts';
import { stepCounts } from './step-counts.ts';
import { collectTotals, promTotals } from './totals.ts';

/** What a frontend keeps of a request to know its latencies. */
interface RequestState {
  lastTokenAt: number;
  readonly arrivedAt: number;
}

/** When the tokens of a step are added: with each output, or once, added up before. */
type TokensAdded = 'per output' | 'per step';

/** A careful user's records with the OpenTelemetry API: instruments made once, attributes made once and frozen. */
export function openTelemetryByHand(added: TokensAdded): Candidate {
  return ofMessages(
    `OpenTelemetry API and SDK by hand, tokens added ${added}`,
    new OpenTelemetryByHand(added),
  );
}

/** The same behind a library that makes values of the whole frame. */
export function openTelemetryFromFrames(
  library: 'msgpackr' | '@msgpack/msgpack',
  added: TokensAdded,
): Candidate {
  const byHand = new OpenTelemetryByHand(added);
  const steps = new FrameSteps(decodingRequests());
  const decoder =
    library === 'msgpackr' ? new Unpackr({ mapsAsObjects: true, useRecords: false }) : new Decoder();
  return {
    name: `${library}, then OpenTelemetry by hand, tokens added ${added}`,
    run: () => {
      const [, outputs, stats, timestamp] = decoder.decode(steps.next()) as DecodedStep;
      let tokens = 0;
      for (const [id, ids] of outputs) {
        byHand.recordOutput(id, ids.length, timestamp);
        tokens += ids.length;
      }
      byHand.recordStep(tokens, stats);
    },
    counts: () => byHand.counts(),
  };
}

/** A careful user's records with prom-client: the children of all label sets looked up once and kept. */
export function promClientByHand(added: TokensAdded): Candidate {
  return ofMessages(`prom-client by hand, bound labels, tokens added ${added}`, new PromClientByHand(added));
}

function ofMessages(name: string, byHand: OpenTelemetryByHand | PromClientByHand): Candidate {
  const steps = new EngineSteps([decodingRequests()]);
  return {
    name,
    prepare: (units) => steps.prepare(units),
    run: () => {
      const { outputs, scheduler_stats: stats, timestamp } = steps.next();
      let tokens = 0;
      for (const { request_id: id, new_token_ids: ids } of outputs) {
        byHand.recordOutput(id, ids.length, timestamp);
        tokens += ids.length;
      }
      byHand.recordStep(tokens, stats);
    },
    counts: () => byHand.counts(),
  };
}

type DecodedStep = readonly [
  engine: number,
  outputs: readonly (readonly [id: string, tokens: readonly number[]])[],
  stats: StepStats,
  timestamp: number,
];

class OpenTelemetryByHand {
  readonly #perOutput: boolean;
  readonly #requests = requestStates();
  readonly #attributes: Attributes = Object.freeze({ ...LABELS });
  readonly #capacity: Attributes = Object.freeze({ ...LABELS, reason: 'capacity' });
  readonly #deferred: Attributes = Object.freeze({ ...LABELS, reason: 'deferred' });
  readonly #metering = plainSdk();
  readonly #meter = this.#metering.provider.getMeter('by-hand');
  readonly #generationTokens = this.#counter('vllm:generation_tokens');
  readonly #timeToFirstToken = this.#histogram('vllm:time_to_first_token_seconds');
  readonly #interTokenLatency = this.#histogram('vllm:inter_token_latency_seconds');
  readonly #iterationTokens = this.#histogram('vllm:iteration_tokens_total');
  readonly #running = this.#gauge('vllm:num_requests_running');
  readonly #waiting = this.#gauge('vllm:num_requests_waiting');
  readonly #waitingByReason = this.#gauge('vllm:num_requests_waiting_by_reason');
  readonly #kvCacheUsage = this.#gauge('vllm:kv_cache_usage_perc');
  readonly #prefixCacheQueries = this.#counter('vllm:prefix_cache_queries');
  readonly #prefixCacheHits = this.#counter('vllm:prefix_cache_hits');

  constructor(added: TokensAdded) {
    this.#perOutput = added === 'per output';
  }

  recordOutput(id: string, tokens: number, timestamp: number): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    if (this.#perOutput) this.#generationTokens.add(tokens, this.#attributes);
    if (request.lastTokenAt < 0)
      this.#timeToFirstToken.record(timestamp - request.arrivedAt, this.#attributes);
    else this.#interTokenLatency.record(timestamp - request.lastTokenAt, this.#attributes);
    request.lastTokenAt = timestamp;
  }

  recordStep(tokens: number, stats: StepStats): void {
    if (!this.#perOutput) this.#generationTokens.add(tokens, this.#attributes);
    this.#iterationTokens.record(tokens, this.#attributes);
    const { num_waiting_reqs: waiting, num_skipped_waiting_reqs: deferred } = stats;
    this.#running.record(stats.num_running_reqs, this.#attributes);
    this.#waiting.record(waiting + deferred, this.#attributes);
    this.#waitingByReason.record(waiting, this.#capacity);
    this.#waitingByReason.record(deferred, this.#deferred);
    this.#kvCacheUsage.record(stats.kv_cache_usage, this.#attributes);
    this.#prefixCacheQueries.add(stats.prefix_cache_stats.queries, this.#attributes);
    this.#prefixCacheHits.add(stats.prefix_cache_stats.hits, this.#attributes);
  }

  async counts(): ReturnType<Candidate['counts']> {
    return stepCounts(await collectTotals(this.#metering.reader));
  }

  // OpenTelemetry refuses colons in the names of instruments.
  #counter(name: string): Counter {
    return this.#meter.createCounter(name.replace(':', '.'));
  }

  #gauge(name: string): Gauge {
    return this.#meter.createGauge(name.replace(':', '.'));
  }

  #histogram(name: string): Histogram {
    const advice = { explicitBucketBoundaries: [...boundariesOf(name)] };
    return this.#meter.createHistogram(name.replace(':', '.'), { advice });
  }
}

class PromClientByHand {
  readonly #perOutput: boolean;
  readonly #requests = requestStates();
  readonly #registers = [new Registry()];
  readonly #metrics: PromMetric[] = [];
  readonly #generationTokens = this.#counter('vllm:generation_tokens');
  readonly #timeToFirstToken = this.#histogram('vllm:time_to_first_token_seconds');
  readonly #interTokenLatency = this.#histogram('vllm:inter_token_latency_seconds');
  readonly #iterationTokens = this.#histogram('vllm:iteration_tokens_total');
  readonly #running = this.#gauge('vllm:num_requests_running').labels(LABELS);
  readonly #waiting = this.#gauge('vllm:num_requests_waiting').labels(LABELS);
  readonly #waitingByReason = this.#gauge('vllm:num_requests_waiting_by_reason');
  readonly #capacity = this.#waitingByReason.labels({ ...LABELS, reason: 'capacity' });
  readonly #deferred = this.#waitingByReason.labels({ ...LABELS, reason: 'deferred' });
  readonly #kvCacheUsage = this.#gauge('vllm:kv_cache_usage_perc').labels(LABELS);
  readonly #prefixCacheQueries = this.#counter('vllm:prefix_cache_queries');
  readonly #prefixCacheHits = this.#counter('vllm:prefix_cache_hits');

  constructor(added: TokensAdded) {
    this.#perOutput = added === 'per output';
  }

  recordOutput(id: string, tokens: number, timestamp: number): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    if (this.#perOutput) this.#generationTokens.inc(tokens);
    if (request.lastTokenAt < 0) this.#timeToFirstToken.observe(timestamp - request.arrivedAt);
    else this.#interTokenLatency.observe(timestamp - request.lastTokenAt);
    request.lastTokenAt = timestamp;
  }

  recordStep(tokens: number, stats: StepStats): void {
    if (!this.#perOutput) this.#generationTokens.inc(tokens);
    this.#iterationTokens.observe(tokens);
    const { num_waiting_reqs: waiting, num_skipped_waiting_reqs: deferred } = stats;
    this.#running.set(stats.num_running_reqs);
    this.#waiting.set(waiting + deferred);
    this.#capacity.set(waiting);
    this.#deferred.set(deferred);
    this.#kvCacheUsage.set(stats.kv_cache_usage);
    this.#prefixCacheQueries.inc(stats.prefix_cache_stats.queries);
    this.#prefixCacheHits.inc(stats.prefix_cache_stats.hits);
  }

  async counts(): ReturnType<Candidate['counts']> {
    return stepCounts(await promTotals(this.#metrics));
  }

  #counter(name: string): PromCounter.Internal {
    return this.#made(new PromCounter(this.#options(name))).labels(LABELS);
  }

  #gauge(name: string): PromGauge {
    return this.#made(new PromGauge(this.#options(name)));
  }

  #histogram(name: string): PromHistogram.Internal<string> {
    const options = { ...this.#options(name), buckets: [...boundariesOf(name)] };
    return this.#made(new PromHistogram(options)).labels(LABELS);
  }

  #options(name: string): { name: string; help: string; labelNames: string[]; registers: Registry[] } {
    const { description: help, labels } = metricOf(name);
    return { name, help, labelNames: [...labels], registers: this.#registers };
  }

  #made<Kind extends PromMetric>(metric: Kind): Kind {
    this.#metrics.push(metric);
    return metric;
  }
}

const LABELS = { model_name: 'bench', engine: '0' };

function requestStates(): ReadonlyMap<string, RequestState> {
  return new Map(requestIds(OUTPUTS_PER_STEP).map((id) => [id, { lastTokenAt: -1, arrivedAt: 999.5 }]));
}

function metricOf(name: string): Metric {
  const found = catalogue.find((metric) => metric.name === name);
  if (found === undefined) throw new Error(`the benchmark knows no metric ${name}`);
  return found;
}

function boundariesOf(name: string): readonly number[] {
  const metric = metricOf(name);
  return metric.kind === 'histogram' ? metric.boundaries : [];
}
