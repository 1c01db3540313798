import { ProxyTracerProvider, type Span, type SpanKind, type Tracer } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { SeriesAttributes } from '../metrics/series.ts';
import { SeriesStore } from '../metrics/series-store.ts';
import type { Clock } from '../request/clock.ts';
import type { FinishReason } from '../request/finish-reason.ts';
import { LiveRequests } from '../request/live-requests.ts';
import type { RequestHost } from '../request/request-host.ts';
import type { AdoptOptions, StartRequestOptions } from '../request/request-options.ts';
import { RequestSeries } from '../request/request-series.ts';
import { adoptSpan, startRequest } from '../request/start-request.ts';
import type { VllmRequest } from '../request/vllm-request.ts';
import { EngineMetrics } from './engine-metrics.ts';
import type { EngineCoreOutputs, SchedulerStats } from './messages.ts';
import { OutputsRecorder } from './outputs-recorder.ts';
import { SchedulerSeries } from './scheduler-series.ts';
import { SchedulerStatsRecorder } from './scheduler-stats-recorder.ts';

/** What the engines of one instrumentation share. */
export interface EngineSettings {
  readonly modelName: string;
  readonly store: SeriesStore;
  readonly drops: Drops;
  readonly clock: Clock;
  readonly spanKind: SpanKind;
  /** The tracer of the current provider. */
  readonly tracer: Tracer;
  readonly enabled: boolean;
  /** Connects to the global MeterProvider where that is the one to use and has changed. */
  readonly followProvider: () => void;
  /** Says once that no ContextManager is registered, where that is so. */
  readonly checkPropagation: () => void;
}

/** One engine: its series, the requests in flight on it, and what its messages do to both. */
export class Engine {
  readonly index: number;
  /** What the application holds of this engine. */
  readonly metrics: EngineMetrics;
  readonly #settings: EngineSettings;
  readonly #host: RequestHost;
  readonly #outputs: OutputsRecorder;
  readonly #stats: SchedulerStatsRecorder;
  #unrecordedHost: RequestHost | undefined;

  constructor(index: number, settings: EngineSettings) {
    this.index = index;
    this.#settings = settings;
    const base = this.#attributes();
    const scheduler = new SchedulerSeries(settings.store, base);
    this.#host = makeHost(index, settings, new RequestSeries(settings.store, base));
    this.#outputs = new OutputsRecorder(this.#host, scheduler.iterationTokens);
    this.#stats = new SchedulerStatsRecorder(scheduler, settings.drops);
    this.metrics = new EngineMetrics(this);
  }

  get requestsInFlight(): number {
    return this.#host.live.size;
  }

  startRequest(options: StartRequestOptions): VllmRequest {
    return startRequest(this.#hostOfNewRequest(), options);
  }

  adopt(span: Span, options: AdoptOptions): VllmRequest {
    return adoptSpan(this.#hostOfNewRequest(), span, options);
  }

  /** Applies one message of this engine. Never throws. */
  observe(message: EngineCoreOutputs, receivedAt: number): void {
    if (!this.#settings.enabled) return;
    this.#settings.followProvider();
    this.#outputs.record(message, receivedAt);
    const { orphans } = this.#host.live;
    if (orphans.size > 0) orphans.sweepNowAndThen(this.#settings.clock.wallSeconds());
    const stats = message.scheduler_stats;
    if (stats !== undefined && stats !== null) this.#recordStats(stats);
  }

  recordSchedulerStats(stats: SchedulerStats): void {
    if (!this.#settings.enabled) return;
    this.#settings.followProvider();
    this.#recordStats(stats);
  }

  #recordStats(stats: SchedulerStats): void {
    if (typeof stats !== 'object' || stats === null) {
      this.#settings.drops.count('malformedMessage', stats, 'scheduler statistics');
      return;
    }
    try {
      this.#stats.record(stats);
    } catch (error) {
      this.#settings.drops.count('malformedMessage', error);
    }
  }

  /** Ends requests that nobody will end any more; before a collection, so that they are in it. */
  beforeCollection(): void {
    this.#host.live.orphans.sweep(this.#settings.clock.wallSeconds());
  }

  /**
   * Ends every request in flight.
   *
   * @param receivedAt - Wall clock, seconds since the epoch. Default: now.
   */
  endAll(reason: FinishReason, receivedAt?: number): void {
    for (const request of this.#host.live.all()) request.end(reason, { receivedAt });
  }

  /** Requests of a disabled instrumentation work like any other and are recorded nowhere. */
  #hostOfNewRequest(): RequestHost {
    this.#settings.checkPropagation();
    this.#settings.followProvider();
    if (this.#settings.enabled) return this.#host;
    return (this.#unrecordedHost ??= makeHost(
      this.index,
      { ...this.#settings, tracer: new ProxyTracerProvider().getTracer('disabled') },
      new RequestSeries(new SeriesStore(this.#settings.drops, undefined), this.#attributes()),
    ));
  }

  #attributes(): SeriesAttributes {
    return Object.freeze({ model_name: this.#settings.modelName, engine: String(this.index) });
  }
}

function makeHost(index: number, settings: EngineSettings, series: RequestSeries): RequestHost {
  const { modelName, drops, clock, spanKind, followProvider } = settings;
  return {
    index,
    modelName,
    drops,
    clock,
    spanKind,
    followProvider,
    series,
    live: new LiveRequests(),
    outputsObserved: false,
    get tracer() {
      return settings.tracer;
    },
  };
}
