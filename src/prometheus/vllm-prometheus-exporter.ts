import { AggregationTemporality, InstrumentType, MetricReader } from '@opentelemetry/sdk-metrics';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerScrape } from './answer-scrape.ts';
import { withDeadline } from './deadline.ts';
import { messageOf } from '../metrics/message-of.ts';
import { Diagnostics } from './diagnostics.ts';
import {
  resolveExporterOptions,
  type ResolvedExporterOptions,
  type VllmPrometheusExporterOptions,
} from './exporter-options.ts';
import { Exposition } from './exposition.ts';
import { FamilyMerger } from './family-merger.ts';
import { IdleGuard } from './idle-guard.ts';
import { MetricsServer } from './metrics-server.ts';
import { SpareWriter } from './spare-writer.ts';
import { TargetInfo } from './target-info.ts';

/** The part of a collection's time limit that observable callbacks get. */
const CALLBACK_SHARE = 0.9;

/** What has gone well and wrong since the exporter was made: {@link VllmPrometheusExporter.status}. */
export interface VllmPrometheusExporterStatus {
  /** Collections that succeeded, for however many scrapes each, those of an idle exporter included. */
  readonly collections: number;
  /** Collections that gave nothing, so that their scrapes were answered with 503. */
  readonly failedCollections: number;
  /** Observable callbacks (and metric producers' own errors) that cost only their own metrics in one collection. */
  readonly callbackErrors: number;
}

/**
 * A Prometheus endpoint for all metrics of a MeterProvider, under vLLM's own names where the Views of `vllmViews()`
 * give them: names keep their colon, and `le` is spelled as vLLM spells it (`1.0`).
 *
 * Other metrics are named by OpenTelemetry's "Prometheus and OpenMetrics Compatibility" with its default strategy:
 * characters other than letters, digits, `_` and `:` become `_`, the unit follows as a suffix (`http.server.request.duration`
 * in `s` is `http_server_request_duration_seconds`), and counters end in `_total`. vLLM metrics have no unit. There
 * are no `_created` series and no timestamps, and exponential histograms, which no text format can hold, are left out.
 *
 * A scrape gets Prometheus text 0.0.4 or OpenMetrics 1.0, gzipped or not, as its headers prefer; OpenMetrics has the
 * exemplars of this package's histograms and of a `BoundMeterProvider`'s. Scrapes at the same time share one collection. An observable callback that fails costs only its own metrics and is said through `diag`;
 * a collection that fails or takes too long is answered with 503 and the reason.
 *
 * ```ts
 * const exporter = new VllmPrometheusExporter({ port: 9464 });
 * const provider = new MeterProvider({ readers: [exporter], views: [...vllmViews()] });
 * ```
 */
export class VllmPrometheusExporter extends MetricReader {
  /**
   * Answers a request for metrics, whatever its path; bound, so that it can be passed on as it is:
   *
   * ```ts
   * http.createServer(exporter.getMetricsRequestHandler);
   * express.get('/metrics', exporter.getMetricsRequestHandler);
   * fastify.get('/metrics', (request, reply) => {
   *   reply.hijack();
   *   exporter.getMetricsRequestHandler(request.raw, reply.raw);
   * });
   * ```
   */
  readonly getMetricsRequestHandler: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #options: ResolvedExporterOptions;
  readonly #diagnostics = new Diagnostics();
  readonly #merger: FamilyMerger;
  readonly #targetInfo: TargetInfo | undefined;
  readonly #server: MetricsServer;
  readonly #idleGuard: IdleGuard;
  readonly #spareWriter = new SpareWriter();
  #collecting: Promise<Exposition> | undefined;
  #collections = 0;
  #failedCollections = 0;
  #callbackErrors = 0;
  /** What was last said about collections, so that a lasting problem is said once, and again if it comes back. */
  #lastProblem: string | undefined;

  /** @throws TypeError for an option that is not valid. */
  constructor(options: VllmPrometheusExporterOptions = {}) {
    const resolved = resolveExporterOptions(options);
    super({
      // A gauge has no temporality; what the SDK does by it is whether series that are no longer observed stay for ever.
      aggregationTemporalitySelector: (instrument) =>
        instrument === InstrumentType.OBSERVABLE_GAUGE
          ? AggregationTemporality.DELTA
          : AggregationTemporality.CUMULATIVE,
      metricProducers: [...resolved.metricProducers],
    });
    this.#options = resolved;
    this.#merger = new FamilyMerger(resolved.scopeLabels, this.#diagnostics);
    if (resolved.targetInfo) {
      this.#targetInfo = new TargetInfo(resolved.collectTimeoutMillis / 2, this.#diagnostics);
    }
    const expose = (limitMillis: number): Promise<Exposition> => this.#expose(limitMillis);
    this.getMetricsRequestHandler = (request, response) => {
      // A response that can't be written to is of no more use.
      answerScrape(request, response, resolved.collectTimeoutMillis, expose).catch(() => response.destroy());
    };
    const onError = (error: unknown): void => this.#onServerError(error);
    this.#server = new MetricsServer(resolved, this.getMetricsRequestHandler, onError);
    this.#idleGuard = new IdleGuard(resolved.idleCollectMillis, () => {
      this.#expose(resolved.collectTimeoutMillis).catch(() => {});
    });
    if (!resolved.preventServerStart) this.#server.start().catch(onError);
  }

  /** The port that the own server listens on, `undefined` while it does not. */
  get port(): number | undefined {
    return this.#server.port;
  }

  /** The address to scrape, `undefined` while the own server does not listen. */
  get url(): string | undefined {
    return this.#server.url;
  }

  /**
   * Starts the own server, or waits for the start that the constructor made; then `port` and `url` are known.
   *
   * @throws Error (rejects) where the server cannot listen; a later call tries again.
   */
  startServer(): Promise<void> {
    return this.#server.start();
  }

  /** Stops the own server and closes its connections. The handler goes on working. */
  stopServer(): Promise<void> {
    return this.#server.stop();
  }

  /** The counts so far. */
  status(): VllmPrometheusExporterStatus {
    return {
      collections: this.#collections,
      failedCollections: this.#failedCollections,
      callbackErrors: this.#callbackErrors,
    };
  }

  protected override onInitialized(): void {
    this.#idleGuard.start();
  }

  /** Nothing waits to be sent: a scrape collects what there is. */
  protected override async onForceFlush(): Promise<void> {}

  protected override async onShutdown(): Promise<void> {
    this.#idleGuard.stop();
    await this.#server.stop();
  }

  #expose(limitMillis: number): Promise<Exposition> {
    this.#collecting ??= this.#collectWithin(limitMillis).finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  async #collectWithin(limitMillis: number): Promise<Exposition> {
    this.#idleGuard.touch();
    try {
      const exposition = await withDeadline(
        this.#collectExposition(limitMillis),
        limitMillis,
        'the collection',
      );
      this.#collections += 1;
      return exposition;
    } catch (error) {
      this.#failedCollections += 1;
      this.#sayProblem(`a collection failed and was answered with 503: ${messageOf(error)}`);
      throw error;
    }
  }

  async #collectExposition(limitMillis: number): Promise<Exposition> {
    const { resourceMetrics, errors } = await this.collect({ timeoutMillis: limitMillis * CALLBACK_SHARE });
    this.#callbackErrors += errors.length;
    this.#sayProblem(
      errors.length === 0
        ? undefined
        : `an observable callback or metric producer failed: ${messageOf(errors[0])}; its metrics are left out`,
    );
    const target = (await this.#targetInfo?.families(resourceMetrics.resource)) ?? [];
    const families = this.#merger.merge(resourceMetrics.scopeMetrics, target);
    return new Exposition(families, this.#spareWriter, (family) => this.#sayDuplicate(family));
  }

  #sayProblem(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#lastProblem) this.#diagnostics.error(problem);
    this.#lastProblem = problem;
  }

  #sayDuplicate(family: string): void {
    this.#diagnostics.warnOnce(
      `duplicate ${family}`,
      `${family} has several series with the same labels once these are valid in Prometheus: only the first is exposed. Where they come from several scopes, the option scopeLabels tells them apart`,
    );
  }

  #onServerError(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
    const { onError, host, port } = this.#options;
    try {
      if (onError !== undefined) onError(error);
      else this.#diagnostics.error(`the server on ${host}:${port} failed: ${error.message}`);
    } catch (failure) {
      this.#diagnostics.error(`onError threw: ${messageOf(failure)}`);
    }
  }
}
