import {
  metrics,
  trace,
  type MeterProvider,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import { Engines } from './engine/engines.ts';
import type { EngineSettings } from './engine/engine-settings.ts';
import type { EngineMetrics } from './engine/engine-metrics.ts';
import type { EngineCoreOutputs } from './engine/messages.ts';
import type { EngineWatcher } from './engine/stats-source.ts';
import { ToolCallParserSeries, type ToolCallParserInvocation } from './engine/tool-call-parser-series.ts';
import { Drops } from './metrics/drops.ts';
import { SCOPE_NAME, SCOPE_VERSION } from './metrics/scope.ts';
import { SeriesStore } from './metrics/series-store.ts';
import { resolveOptions, type ResolvedOptions, type VllmInstrumentationOptions } from './options.ts';
import { contextPropagates, PropagationCheck } from './propagation-check.ts';
import { GuardedClock } from './request/guarded-clock.ts';
import { LoraRequests } from './request/lora-requests.ts';
import { isTime, type AdoptOptions } from './request/request-options.ts';
import type { VllmRequest } from './request/vllm-request.ts';
import { enlist } from './shutdown-roster.ts';
import { StatsLogger } from './stats-log/stats-logger.ts';
import type { VllmStatus } from './status.ts';

/** The configuration that `getConfig` tells and `setConfig` changes. */
export interface VllmInstrumentationConfig {
  enabled?: boolean;
}

/**
 * The OpenTelemetry instrumentation of a service that serves or fronts vLLM engines: register it with
 * `registerInstrumentations({ instrumentations: [vllm] })` or `new NodeSDK({ instrumentations: [vllm] })`, or leave it
 * to find the global providers by itself.
 *
 * It implements the `Instrumentation` interface of `@opentelemetry/instrumentation` and patches nothing.
 */
export class VllmInstrumentation {
  readonly instrumentationName: string = SCOPE_NAME;
  readonly instrumentationVersion: string = SCOPE_VERSION;

  readonly #options: ResolvedOptions;
  readonly #drops = new Drops();
  readonly #store: SeriesStore;
  readonly #settings: SharedSettings;
  readonly #engines: Engines;
  readonly #propagation = new PropagationCheck();
  // The provider that instruments were last made from; undefined while there is none.
  #connected: MeterProvider | undefined;
  // Set once a provider other than the global one was handed over: from then on the global one is not followed.
  #ownMeterProvider: MeterProvider | undefined;
  #configEnabled: boolean;
  #toolCallParser: ToolCallParserSeries | undefined;
  #statsLog: StatsLogger | undefined;

  /** @throws TypeError when an option is not what it may be. */
  constructor(options: VllmInstrumentationOptions) {
    this.#options = resolveOptions(options);
    const { enabled, maxModelLen, maxLoras } = this.#options;
    const clock = new GuardedClock(this.#options.clock, this.#drops);
    this.#store = new SeriesStore(this.#drops, maxModelLen, () => this.#beforeCollection());
    this.#configEnabled = enabled;
    this.#settings = {
      ...this.#options,
      clock,
      store: this.#store,
      drops: this.#drops,
      lora: new LoraRequests(this.#store, clock, maxLoras),
      tracer: trace.getTracer(SCOPE_NAME, SCOPE_VERSION),
      enabled: false,
      followProvider: () => this.#followGlobalProvider(),
      checkPropagation: () => this.#propagation.run(),
    };
    this.#engines = new Engines(this.#settings);
    if (enabled) this.enable();
  }

  /**
   * The metrics of the engine with this index, made at the first call and the same from then on. Its series exist,
   * at zero, from then on too.
   *
   * @param index - 0 to 65535, in any order and with any gaps.
   * @throws TypeError when `index` is not such a number, or the 4097th engine is asked for.
   */
  engine(index: number): EngineMetrics {
    this.#followGlobalProvider();
    return this.#engines.require(index);
  }

  /** The indices of the engines there are, ascending. */
  get engineIndices(): readonly number[] {
    return this.#engines.indices;
  }

  /**
   * Removes an engine: ends its requests in flight as aborts, and drops its series, which are in no scrape from then on.
   * Messages that still come from it are counted; it comes back, at zero, when {@link engine} is called again.
   *
   * What is not in its last collection is lost. A push exporter of the SDK's own goes on exporting the last values with
   * cumulative temporality: the readers of this package leave them out.
   *
   * @returns Whether there was such an engine.
   */
  removeEngine(index: number): boolean {
    return this.#engines.remove(index);
  }

  /**
   * Counts a run of the tool-call parser: once per choice, or once per delta of a streamed one. Never throws.
   *
   * The series of all combinations exist from the first call on.
   */
  recordToolCallParserInvocation(invocation: ToolCallParserInvocation): void {
    if (!this.#settings.enabled) return;
    this.#followGlobalProvider();
    this.#toolCallParser ??= new ToolCallParserSeries(this.#store, this.#options.modelName, this.#drops);
    this.#toolCallParser.record(invocation);
  }

  /**
   * Applies one message of an engine: its outputs to the requests they name, and its scheduler statistics to the
   * engine of its `engine_index`. Never throws: what can't be read is left out and counted.
   *
   * @param receivedAt - When the message arrived: wall clock, seconds since the epoch. Default: now.
   */
  observe(outputs: EngineCoreOutputs, receivedAt?: number): void {
    if (typeof outputs !== 'object' || outputs === null) {
      this.#drops.count('malformedMessage', outputs, 'a message');
      return;
    }
    try {
      if (outputs.engine_dead === true) {
        this.#engines.endOfDead(outputs.engine_index ?? undefined, this.#wallTime(receivedAt));
        return;
      }
      this.#engines.heardOf(outputs.engine_index ?? 0)?.observe(outputs, this.#wallTime(receivedAt));
    } catch (error) {
      // A decoder may find out that a field is broken only when it is read.
      this.#drops.count('malformedMessage', error);
    }
  }

  /**
   * Makes an existing span the request, the server span of an HTTP instrumentation say: it is recorded when the span
   * ends, or by `request.end(reason)` before. Code whose active span it is finds the request; further down, below
   * spans of its own, only inside `request.run`.
   *
   * @param span - Undefined, where there is no active span, starts a request with a span of its own; so does what is
   * no span, which is counted.
   * @returns The request; for a span that has been adopted already, the same one.
   * @throws TypeError when `options.engine` is no engine index.
   */
  adopt(span: Span | undefined, options?: AdoptOptions): VllmRequest {
    const { engine: index = 0, ...requestOptions } = options ?? {};
    const engine = this.#engines.require(index);
    if (isSpan(span)) return engine.adopt(span, requestOptions);
    if (span !== undefined && span !== null) this.#drops.count('invalidValue', span, 'the span to adopt');
    return engine.startRequest(requestOptions);
  }

  /**
   * Tells of every engine there is, at once, and of each that comes or goes from then on; what a `StatsLogger` reads.
   *
   * @returns Ends the watch.
   */
  watchEngines(watcher: EngineWatcher): () => void {
    return this.#engines.watchEngines(watcher);
  }

  /** How the instrumentation fares: what it is connected to, what is in flight, what was dropped. */
  status(): VllmStatus {
    this.#followGlobalProvider();
    let requestsInFlight = 0;
    for (const engine of this.#engines.all()) requestsInFlight += engine.requestsInFlight;
    return {
      enabled: this.#settings.enabled,
      meterProvider: this.#store.connected,
      contextPropagates: contextPropagates(),
      engines: this.#engines.size,
      requestsInFlight,
      dropped: this.#drops.snapshot(),
    };
  }

  /**
   * Records again after {@link disable}, and starts the stats log anew. Without effect while the configuration says
   * `enabled: false`.
   */
  enable(): void {
    if (!this.#configEnabled || this.#settings.enabled) return;
    this.#settings.enabled = true;
    this.#connect(this.#ownMeterProvider ?? metrics.getMeterProvider());
    const { statsLog } = this.#options;
    if (statsLog !== undefined) this.#statsLog = new StatsLogger(this, statsLog);
  }

  /**
   * Ends every request in flight as an abort, has the stats log print the rest, and records nothing from then on. To lose
   * no sample at shutdown, call it before the MeterProvider's own: `vllm.disable(); await provider.shutdown()`.
   */
  disable(): void {
    if (!this.#settings.enabled) return;
    for (const engine of this.#engines.all()) engine.endAll('abort');
    this.#settings.enabled = false;
    this.#statsLog?.stop();
    // The numbers of counters and gauges are read at collection: they stay readable, and stand still.
  }

  /** Records through `provider` from now on. */
  setMeterProvider(provider: MeterProvider): void {
    // Registration hands over the global provider even where it is still the no-op: that one goes on being followed.
    this.#ownMeterProvider = provider === metrics.getMeterProvider() ? undefined : provider;
    if (this.#settings.enabled) this.#connect(provider);
  }

  /** Makes spans through `provider` from now on. */
  setTracerProvider(provider: TracerProvider): void {
    try {
      this.#settings.tracer = provider.getTracer(SCOPE_NAME, SCOPE_VERSION);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  /** The current configuration. */
  getConfig(): VllmInstrumentationConfig {
    return { enabled: this.#configEnabled };
  }

  /** Changes whether anything is recorded; everything else stands as constructed. */
  setConfig(config?: VllmInstrumentationConfig): void {
    this.#configEnabled = config?.enabled ?? true;
    if (this.#configEnabled) this.enable();
    else this.disable();
  }

  #beforeCollection(): void {
    for (const engine of this.#engines.all()) engine.beforeCollection();
    this.#settings.lora.show();
  }

  /** The metrics API has no proxy provider: instruments made before a provider is set would stay no-ops for ever. */
  #followGlobalProvider(): void {
    if (!this.#settings.enabled || this.#ownMeterProvider !== undefined) return;
    const provider = metrics.getMeterProvider();
    if (provider !== this.#connected) this.#connect(provider);
  }

  #connect(provider: MeterProvider): void {
    if (provider === this.#connected) return;
    this.#connected = provider;
    this.#store.connect(provider);
    enlist(provider, this);
  }

  #wallTime(receivedAt: number | undefined): number {
    if (isTime(receivedAt)) return receivedAt;
    if (receivedAt !== undefined) this.#drops.count('invalidValue', receivedAt, 'a receive time');
    return this.#settings.clock.wallSeconds();
  }
}

function isSpan(span: Span | undefined): span is Span {
  return typeof span?.spanContext === 'function' && typeof span.end === 'function';
}

/** The settings that change with providers and `enable`/`disable`. */
interface SharedSettings extends EngineSettings {
  tracer: Tracer;
  enabled: boolean;
}
