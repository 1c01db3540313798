import { ProxyTracerProvider, type Span } from '@opentelemetry/api';
import { engineAdded, engineRemoved } from '../metrics/live-engines.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import { SeriesStore } from '../metrics/series-store.ts';
import type { FinishReason } from '../request/finish-reason.ts';
import { LoraRequests } from '../request/lora-requests.ts';
import type { RequestHost } from '../request/request-host.ts';
import type { AdoptOptions, StartRequestOptions } from '../request/request-options.ts';
import { RequestSeries } from '../request/request-series.ts';
import { adoptSpan, startRequest } from '../request/start-request.ts';
import type { VllmRequest } from '../request/vllm-request.ts';
import { ConnectorRecorder } from './connector-recorder.ts';
import type { EngineMetrics } from './engine-metrics.ts';
import type { EngineSettings } from './engine-settings.ts';
import { FrontendSeries, type SleepLevel } from './frontend-series.ts';
import { IdleRule } from './idle-rule.ts';
import type { IntervalAccumulator } from './interval-accumulator.ts';
import { KvFetchRecorder } from './kv-fetch-recorder.ts';
import type { EngineCoreOutputs, MultiModalCacheStats, SchedulerStats } from './messages.ts';
import { makeRequestHost } from './make-request-host.ts';
import { OutputsRecorder } from './outputs-recorder.ts';
import { SchedulerSeries } from './scheduler-series.ts';
import { SchedulerStatsRecorder } from './scheduler-stats-recorder.ts';
import { SpecDecodeRecorder } from './spec-decode-recorder.ts';
import type { EngineStats, WatchedEngine } from './stats-source.ts';
import { Statistics } from './statistics.ts';

/** One engine: its series, the requests in flight on it, and what its messages do to both. */
export class Engine implements EngineMetrics, WatchedEngine {
  readonly index: number;
  readonly #settings: EngineSettings;
  readonly #base: SeriesAttributes;
  readonly #group: SeriesGroup;
  readonly #scheduler: SchedulerSeries;
  readonly #frontend: FrontendSeries;
  readonly #host: RequestHost;
  readonly #outputs: OutputsRecorder;
  readonly #stats: SchedulerStatsRecorder;
  readonly #accumulators = new Set<IntervalAccumulator>();
  readonly #idle = new IdleRule();
  #removed = false;
  #unrecordedHost: RequestHost | undefined;

  constructor(index: number, settings: EngineSettings) {
    const { store, drops, modelName, isDiffusion, trackUnknownRequests } = settings;
    const base = Object.freeze({ model_name: modelName, engine: String(index) });
    const group = store.group();
    const statistics = new Statistics(drops);
    this.index = index;
    this.#settings = settings;
    this.#base = base;
    this.#group = group;
    this.#scheduler = new SchedulerSeries(group, base);
    this.#frontend = new FrontendSeries(group, base, statistics);
    this.#host = makeRequestHost(index, settings, new RequestSeries(group, base), settings.lora);
    this.#outputs = new OutputsRecorder(this.#host, this.#scheduler.iterationTokens, trackUnknownRequests);
    const optional = {
      specDecode: new SpecDecodeRecorder(group, base, isDiffusion, statistics, this.#accumulators),
      connectors: new ConnectorRecorder(group, base, statistics, this.#accumulators),
      kvFetch: new KvFetchRecorder(group, base, statistics),
    };
    this.#stats = new SchedulerStatsRecorder(this.#scheduler, optional, statistics, this.#accumulators);
    engineAdded(base);
  }

  get requestsInFlight(): number {
    return this.#host.live.size;
  }

  startRequest(options?: StartRequestOptions): VllmRequest {
    return startRequest(this.#hostOfNewRequest(), options ?? {});
  }

  adopt(span: Span, options: AdoptOptions): VllmRequest {
    return adoptSpan(this.#hostOfNewRequest(), span, options);
  }

  /** Applies one message of this engine. Never throws. */
  observe(message: EngineCoreOutputs, receivedAt: number): void {
    if (!this.#records()) return;
    this.#idle.heard();
    this.#outputs.record(message, receivedAt);
    const { orphans } = this.#host.live;
    if (orphans.size > 0) orphans.sweepNowAndThen(this.#settings.clock.wallSeconds());
    // Whoever learned of a request's end may have removed the engine, or disabled everything. Outputs behind that one
    // may have started requests all the same.
    if (this.#removed) this.endAll('abort');
    if (this.#removed || !this.#settings.enabled) return;
    const stats = message.scheduler_stats;
    if (stats !== undefined && stats !== null) this.#recordStats(stats);
  }

  recordSchedulerStats(stats: SchedulerStats): void {
    if (!this.#records()) return;
    this.#idle.heard();
    this.#recordStats(stats);
  }

  recordCacheConfig(config: Readonly<Record<string, unknown>>): void {
    this.#guarded(() => this.#frontend.recordCacheConfig(config));
  }

  recordSleep(level: SleepLevel): void {
    this.#guarded(() => this.#frontend.recordSleep(level));
  }

  recordWake(): void {
    this.#guarded(() => this.#frontend.recordWake());
  }

  recordMultiModalCacheStats(stats: MultiModalCacheStats): void {
    this.#guarded(() => this.#frontend.recordMultiModalCacheStats(stats));
  }

  attach(accumulator: IntervalAccumulator): () => void {
    this.#accumulators.add(accumulator);
    return () => this.#accumulators.delete(accumulator);
  }

  readStats(): EngineStats {
    this.beforeCollection();
    const { series } = this.#host;
    const scheduler = this.#scheduler;
    return {
      promptTokens: series.promptTokensComputed.value,
      generationTokens: series.generationTokens.value,
      preemptions: series.numPreemptions.value,
      prefixCacheQueries: scheduler.prefixCacheQueries.value,
      prefixCacheHits: scheduler.prefixCacheHits.value,
      externalPrefixCacheQueries: scheduler.externalPrefixCacheQueries.value,
      externalPrefixCacheHits: scheduler.externalPrefixCacheHits.value,
      mmCacheQueries: this.#frontend.mmCacheQueries.value,
      mmCacheHits: this.#frontend.mmCacheHits.value,
      flopsPerGpu: scheduler.flopsPerGpu.value,
      readBytesPerGpu: scheduler.readBytesPerGpu.value,
      writeBytesPerGpu: scheduler.writeBytesPerGpu.value,
      running: scheduler.running.value,
      waiting: scheduler.waitingForCapacity.value,
      deferred: scheduler.waitingDeferred.value,
      kvCacheUsage: scheduler.kvCacheUsage.value,
    };
  }

  /** Ends requests that nobody will end any more, and repairs stale gauges; before a collection, or a line of a log, so that it shows them. */
  beforeCollection(): void {
    const { clock, enabled } = this.#settings;
    const { live } = this.#host;
    live.orphans.sweep(clock.wallSeconds());
    if (enabled && this.#host.outputsObserved && this.#idle.applies(live, clock.monotonicSeconds()))
      this.#stats.setIdle();
  }

  /**
   * Ends every request in flight.
   *
   * @param receivedAt - Wall clock, seconds since the epoch. Default: now.
   */
  endAll(reason: FinishReason, receivedAt?: number): void {
    for (const request of this.#host.live.all()) request.end(reason, { receivedAt });
  }

  /** Drops the series. To be called after {@link endAll}; requests that are started later are recorded nowhere. */
  close(): void {
    this.#removed = true;
    this.#group.close();
    this.#accumulators.clear();
    engineRemoved(this.#base);
  }

  /** Whether something is to be recorded now. */
  #records(): boolean {
    if (this.#removed) this.#settings.drops.count('removedEngine', this.index);
    if (this.#removed || !this.#settings.enabled) return false;
    this.#settings.followProvider();
    return true;
  }

  #recordStats(stats: SchedulerStats): void {
    if (typeof stats !== 'object' || stats === null || Array.isArray(stats) || stats instanceof Map) {
      this.#settings.drops.count('malformedMessage', stats, 'scheduler statistics');
      return;
    }
    try {
      this.#stats.record(stats);
    } catch (error) {
      this.#settings.drops.count('malformedMessage', error);
    }
  }

  #guarded(record: () => void): void {
    if (!this.#records()) return;
    try {
      record();
    } catch (error) {
      this.#settings.drops.count('malformedMessage', error);
    }
  }

  /** Requests of a disabled instrumentation, or a removed engine, work like any other and are recorded nowhere. */
  #hostOfNewRequest(): RequestHost {
    this.#settings.checkPropagation();
    if (this.#records()) return this.#host;
    const { drops, clock } = this.#settings;
    const store = new SeriesStore(drops, undefined);
    return (this.#unrecordedHost ??= makeRequestHost(
      this.index,
      { ...this.#settings, tracer: new ProxyTracerProvider().getTracer('disabled') },
      new RequestSeries(store.group(), this.#base),
      new LoraRequests(store, clock, undefined),
    ));
  }
}
