import {
  metrics,
  trace,
  type MeterProvider,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import { Engine, type EngineSettings } from './engine/engine.ts';
import type { EngineMetrics } from './engine/engine-metrics.ts';
import type { EngineCoreOutputs } from './engine/messages.ts';
import { Drops } from './metrics/drops.ts';
import { SCOPE_NAME, SCOPE_VERSION } from './metrics/scope.ts';
import { SeriesStore } from './metrics/series-store.ts';
import { resolveOptions, type ResolvedOptions, type VllmInstrumentationOptions } from './options.ts';
import { contextPropagates, PropagationCheck } from './propagation-check.ts';
import { isTime, type AdoptOptions } from './request/request-options.ts';
import type { VllmRequest } from './request/vllm-request.ts';
import { enlist } from './shutdown-roster.ts';
import type { VllmStatus } from './status.ts';

/** The largest engine index: the engine's identity on the wire has two bytes. */
const MAX_ENGINE_INDEX = 65_535;

/** Bounds what messages with made-up indices can cost. */
const MAX_ENGINES = 4096;

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
  readonly #engines = new Map<number, Engine>();
  readonly #propagation = new PropagationCheck();
  // The provider that instruments were last made from; undefined while there is none.
  #connected: MeterProvider | undefined;
  // Set once a provider other than the global one was handed over: from then on the global one is not followed.
  #ownMeterProvider: MeterProvider | undefined;
  #configEnabled: boolean;

  /** @throws TypeError when an option is not what it may be. */
  constructor(options: VllmInstrumentationOptions) {
    this.#options = resolveOptions(options);
    const { modelName, maxModelLen, clock, spanKind, enabled } = this.#options;
    this.#store = new SeriesStore(this.#drops, maxModelLen, () => this.#beforeCollection());
    this.#configEnabled = enabled;
    this.#settings = {
      modelName,
      store: this.#store,
      drops: this.#drops,
      clock,
      spanKind,
      tracer: trace.getTracer(SCOPE_NAME, SCOPE_VERSION),
      enabled: false,
      followProvider: () => this.#followGlobalProvider(),
      checkPropagation: () => this.#propagation.run(),
    };
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
    return this.#requireEngine(index).metrics;
  }

  /** The indices of the engines known so far, ascending. */
  get engineIndices(): readonly number[] {
    return [...this.#engines.keys()].toSorted((a, b) => a - b);
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
        this.#endOfDead(outputs.engine_index, this.#wallTime(receivedAt));
        return;
      }
      const index = outputs.engine_index ?? 0;
      const engine = this.#findEngine(index);
      if (engine === undefined) this.#drops.count('invalidEngineIndex', index);
      else engine.observe(outputs, this.#wallTime(receivedAt));
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
    const engine = this.#requireEngine(index);
    if (isSpan(span)) return engine.adopt(span, requestOptions);
    if (span !== undefined && span !== null) this.#drops.count('invalidValue', span, 'the span to adopt');
    return engine.startRequest(requestOptions);
  }

  /** How the instrumentation fares: what it is connected to, what is in flight, what was dropped. */
  status(): VllmStatus {
    this.#followGlobalProvider();
    let requestsInFlight = 0;
    for (const engine of this.#engines.values()) requestsInFlight += engine.requestsInFlight;
    return {
      enabled: this.#settings.enabled,
      meterProvider: this.#store.connected,
      contextPropagates: contextPropagates(),
      engines: this.#engines.size,
      requestsInFlight,
      dropped: this.#drops.snapshot(),
    };
  }

  /** Records again after {@link disable}. Without effect while the configuration says `enabled: false`. */
  enable(): void {
    if (!this.#configEnabled || this.#settings.enabled) return;
    this.#settings.enabled = true;
    this.#connect(this.#ownMeterProvider ?? metrics.getMeterProvider());
  }

  /**
   * Ends every request in flight as an abort and records nothing from then on. To lose no sample at shutdown, call
   * it before the MeterProvider's own: `vllm.disable(); await provider.shutdown()`.
   */
  disable(): void {
    if (!this.#settings.enabled) return;
    for (const engine of this.#engines.values()) engine.endAll('abort');
    this.#settings.enabled = false;
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
    for (const engine of this.#engines.values()) engine.beforeCollection();
  }

  /** @param index - Undefined where the message does not say which engine it was. */
  #endOfDead(index: number | undefined, receivedAt: number): void {
    if (!this.#settings.enabled) return;
    for (const engine of this.#engines.values()) {
      if (index === undefined || engine.index === index) engine.endAll('error', receivedAt);
    }
  }

  #requireEngine(index: number): Engine {
    const engine = this.#findEngine(index);
    if (engine !== undefined) return engine;
    throw new TypeError(
      `engine index must be a whole number from 0 to ${MAX_ENGINE_INDEX}, for at most ${MAX_ENGINES} engines; got ${String(index)}`,
    );
  }

  #findEngine(index: number): Engine | undefined {
    const known = this.#engines.get(index);
    if (known !== undefined) return known;
    if (!Number.isInteger(index) || index < 0 || index > MAX_ENGINE_INDEX) return undefined;
    if (this.#engines.size >= MAX_ENGINES) return undefined;
    const engine = new Engine(index, this.#settings);
    this.#engines.set(index, engine);
    return engine;
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
    return this.#options.clock.wallSeconds();
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
