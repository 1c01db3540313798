import { SpanKind, trace, type Attributes, type Counter, type Histogram } from '@opentelemetry/api';
import { VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';
import { Counter as PromCounter, Histogram as PromHistogram, Registry } from 'prom-client';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import type { Counts } from './counts.ts';
import type { Candidate, Work } from './candidate.ts';
import { onBoundMeter, onSdk, plainSdk, type Metering } from './metering.ts';
import { collectTotals, promTotals, type TotalsByName } from './totals.ts';

/** Tokens of one request, each in an output of its own, and the positions before which it is preempted. */
const TOKENS = 256;
const PREEMPTED_BEFORE: ReadonlySet<number> = new Set([100, 180]);
const PROMPT_TOKENS = 512;
const MAX_TOKENS = 256;

/** The end-of-request histograms that get one sample each, beside the preemption count. */
const END_HISTOGRAMS = [
  'vllm:request_prompt_tokens',
  'vllm:request_generation_tokens',
  'vllm:request_max_num_generation_tokens',
  'vllm:request_prefill_kv_computed_tokens',
  'vllm:request_params_n',
  'vllm:request_params_max_tokens',
  'vllm:request_time_per_output_token_seconds',
  'vllm:e2e_request_latency_seconds',
  'vllm:request_queue_time_seconds',
  'vllm:request_inference_time_seconds',
  'vllm:request_prefill_time_seconds',
  'vllm:request_decode_time_seconds',
] as const;

const COUNTERS = [
  'vllm:num_preemptions',
  'vllm:prompt_tokens',
  'vllm:prompt_tokens_cached',
  'vllm:prompt_tokens_by_source',
  'vllm:generation_tokens',
  'vllm:request_success',
] as const;

/**
 * One request, 256 outputs of a token each, two preemptions, a span that does not record: through this package, and
 * the same records made by hand with the plain OpenTelemetry API and with prom-client.
 */
export function wholeRequest(): Work {
  return {
    title: `One request, ${TOKENS} tokens, ${PREEMPTED_BEFORE.size} preemptions, non-recording span`,
    item: 'request',
    itemsPerUnit: 1,
    unitsPerRound: 500,
    reference: 'last',
    candidates: [
      byHandWithOpenTelemetry,
      byHandWithPromClient,
      () => withThisPackage(onSdk()),
      () => withThisPackage(onBoundMeter()),
    ],
  };
}

function withThisPackage({ name, provider, reader }: Metering): Candidate {
  const vllm = new VllmInstrumentation({ modelName: 'bench' });
  vllm.setMeterProvider(provider);
  const engine = vllm.engine(0);
  const prefill = {
    num_prompt_tokens: PROMPT_TOKENS,
    num_computed_tokens: PROMPT_TOKENS - 128,
    num_cached_tokens: 128,
    num_local_cached_tokens: 128,
  };
  return {
    name,
    run: () => {
      const request = engine.startRequest({
        requestId: 'request',
        promptTokens: PROMPT_TOKENS,
        maxTokens: MAX_TOKENS,
        arrivalTime: 1000,
      });
      request.recordEvent('queued', 10);
      request.recordEvent('scheduled', 10.5);
      for (let token = 0; token < TOKENS; token += 1) {
        if (PREEMPTED_BEFORE.has(token)) request.recordPreemption(11);
        request.recordTokens(1, {
          timestamp: 11 + token * 0.02,
          receivedAt: 1001 + token * 0.02,
          ...(token === 0 ? { prefill } : {}),
        });
      }
      request.end('length', { receivedAt: 1001 + TOKENS * 0.02 });
    },
    counts: async () => selected(await collectTotals(reader)),
  };
}

function byHandWithOpenTelemetry(): Candidate {
  const { name: byOpenTelemetry, provider, reader } = plainSdk();
  const meter = provider.getMeter('by-hand');
  const tracer = trace.getTracer('by-hand');
  const histograms = new Map<string, Histogram>();
  const counters = new Map<string, Counter>();
  for (const metric of catalogue) {
    // The name on the wire does not matter here, and OpenTelemetry refuses colons in instrument names.
    const name = metric.name.replace(':', '.');
    if (metric.kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...metric.boundaries] };
      histograms.set(metric.name, meter.createHistogram(name, { advice }));
    } else if (metric.kind === 'counter') counters.set(metric.name, meter.createCounter(name));
  }
  const attributes: Attributes = Object.freeze({ model_name: 'bench', engine: '0' });
  const with_ = (extra: Attributes): Attributes => Object.freeze({ ...attributes, ...extra });
  return {
    name: byOpenTelemetry,
    ...byHand({
      startSpan: () => {
        const span = tracer.startSpan('llm_request', { kind: SpanKind.SERVER });
        return () => span.end();
      },
      histogram: (name) => {
        const histogram = required(histograms, name);
        return (value) => histogram.record(value, attributes);
      },
      counter: (name, extra) => {
        const counter = required(counters, name);
        const labels = extra === undefined ? attributes : with_(extra);
        return (value) => counter.add(value, labels);
      },
    }),
    counts: async () => selected(await collectTotals(reader)),
  };
}

function byHandWithPromClient(): Candidate {
  const registers = [new Registry()];
  const labels = { model_name: 'bench', engine: '0' };
  const metrics = new Map<string, PromCounter | PromHistogram>();
  for (const metric of catalogue) {
    const { name, description: help } = metric;
    const options = { name, help, labelNames: [...metric.labels], registers };
    if (metric.kind === 'counter') metrics.set(name, new PromCounter(options));
    if (metric.kind === 'histogram') {
      metrics.set(name, new PromHistogram({ ...options, buckets: [...metric.boundaries] }));
    }
  }
  return {
    name: 'prom-client by hand, bound labels',
    ...byHand({
      startSpan: () => () => {},
      histogram: (name) => {
        const bound = (required(metrics, name) as PromHistogram).labels(labels);
        return (value) => bound.observe(value);
      },
      counter: (name, extra) => {
        const bound = (required(metrics, name) as PromCounter).labels({ ...labels, ...extra });
        return (value) => bound.inc(value);
      },
    }),
    counts: async () => selected(await promTotals(metrics.values())),
  };
}

/** How a library records, resolved as far as it allows before the work starts. */
interface Recorder {
  startSpan(): () => void;
  histogram(name: string): (value: number) => void;
  counter(name: string, extra?: Record<string, string>): (value: number) => void;
}

/** The work of a whole request written out by hand: the records that semantics.md asks for, and no more. */
function byHand(recorder: Recorder): Pick<Candidate, 'run'> {
  const timeToFirstToken = recorder.histogram('vllm:time_to_first_token_seconds');
  const interTokenLatency = recorder.histogram('vllm:inter_token_latency_seconds');
  const requestNumPreemptions = recorder.histogram('vllm:request_num_preemptions');
  const endHistograms = END_HISTOGRAMS.map((name) => recorder.histogram(name));
  const numPreemptions = recorder.counter('vllm:num_preemptions');
  const generationTokens = recorder.counter('vllm:generation_tokens');
  const promptTokens = recorder.counter('vllm:prompt_tokens');
  const promptTokensCached = recorder.counter('vllm:prompt_tokens_cached');
  const computed = recorder.counter('vllm:prompt_tokens_by_source', { source: 'local_compute' });
  const localHit = recorder.counter('vllm:prompt_tokens_by_source', { source: 'local_cache_hit' });
  const success = recorder.counter('vllm:request_success', { finished_reason: 'length' });
  return {
    run: () => {
      const endSpan = recorder.startSpan();
      let preemptions = 0;
      let last = 0;
      for (let token = 0; token < TOKENS; token += 1) {
        if (PREEMPTED_BEFORE.has(token)) {
          preemptions += 1;
          numPreemptions(1);
        }
        generationTokens(1);
        const now = 11 + token * 0.02;
        if (token === 0) {
          promptTokens(PROMPT_TOKENS);
          promptTokensCached(128);
          computed(PROMPT_TOKENS - 128);
          localHit(128);
          timeToFirstToken(1);
        } else interTokenLatency(now - last);
        last = now;
      }
      endSpan();
      success(1);
      requestNumPreemptions(preemptions);
      for (const record of endHistograms) record(1);
    },
  };
}

/** The totals of the counters and the sample counts of the histograms that the work moves. */
function selected(totals: TotalsByName): Counts {
  const names = [
    ...COUNTERS,
    ...END_HISTOGRAMS,
    'vllm:request_num_preemptions',
    'vllm:time_to_first_token_seconds',
    'vllm:inter_token_latency_seconds',
  ];
  return Object.fromEntries(names.map((name) => [name, totals.get(name)?.count ?? Number.NaN]));
}

function required<T>(map: ReadonlyMap<string, T>, name: string): T {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the benchmark has no metric ${name}`);
  return value;
}
