import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import { requireOption } from '../metrics/require-option.ts';

/** Options of `VllmPrometheusExporter`. A value of the wrong kind throws a `TypeError` that names the option. */
export interface VllmPrometheusExporterOptions {
  /** Host name or address of the interface to listen on. Default `localhost`; `0.0.0.0` or `::` for all. */
  readonly host?: string | undefined;
  /** Port to listen on, 0 to 65535; 0 picks a free one, which `exporter.port` then tells. Default 9464. */
  readonly port?: number | undefined;
  /** Path of the metrics, from its `/` on, without a query. Other paths get 404. Default `/metrics`. */
  readonly path?: string | undefined;
  /**
   * True for no server at construction: mount `exporter.getMetricsRequestHandler` on one of yours, or call
   * `exporter.startServer()` later. Default false.
   */
  readonly preventServerStart?: boolean | undefined;
  /**
   * Called when the server that is started at construction cannot listen (`EADDRINUSE`: the port is taken), and for
   * errors of a running server. The process goes on either way. Default: `diag.error`.
   */
  readonly onError?: ((error: Error) => void) | undefined;
  /**
   * The longest time that a scrape may collect, in milliseconds; then it is answered with 503. Prometheus says its
   * own limit with each scrape, which counts where it is smaller. Observable callbacks get nine tenths of it, so that
   * one that hangs costs only its own metrics. Default 10000.
   */
  readonly collectTimeoutMillis?: number | undefined;
  /**
   * How long the exporter waits for a scrape, in milliseconds, before it collects and discards by itself; 0 turns
   * this off. Where several readers share a View, the SDK keeps what each has not collected yet: an endpoint that
   * nobody scrapes would grow with every export of another reader. As values are cumulative, nothing is lost.
   * Default 60000.
   */
  readonly idleCollectMillis?: number | undefined;
  /**
   * True to give every series the labels `otel_scope_name`, `otel_scope_version` and `otel_scope_schema_url`. Default
   * false, other than OpenTelemetry's Prometheus exporter specification has it: the dashboards made for vLLM group
   * without them.
   */
  readonly scopeLabels?: boolean | undefined;
  /** False for no `target_info` metric with the resource's attributes. Default true. */
  readonly targetInfo?: boolean | undefined;
  /** Further sources of metrics, collected with each scrape. Their values must be cumulative. Default none. */
  readonly metricProducers?: readonly MetricProducer[] | undefined;
}

/** The options with their defaults. */
export type ResolvedExporterOptions = {
  readonly [Name in Exclude<keyof VllmPrometheusExporterOptions, 'onError'>]-?: NonNullable<
    VllmPrometheusExporterOptions[Name]
  >;
} & Pick<VllmPrometheusExporterOptions, 'onError'>;

/** The longest delay of a Node.js timer: a longer one fires at once. */
const MAX_MILLIS = 2 ** 31 - 1;

/** @throws TypeError naming the option, what is allowed and what came. */
export function resolveExporterOptions(options: VllmPrometheusExporterOptions): ResolvedExporterOptions {
  const resolved: ResolvedExporterOptions = {
    host: options.host ?? 'localhost',
    port: options.port ?? 9464,
    path: options.path ?? '/metrics',
    preventServerStart: options.preventServerStart ?? false,
    onError: options.onError,
    collectTimeoutMillis: options.collectTimeoutMillis ?? 10_000,
    idleCollectMillis: options.idleCollectMillis ?? 60_000,
    scopeLabels: options.scopeLabels ?? false,
    targetInfo: options.targetInfo ?? true,
    metricProducers: options.metricProducers ?? [],
  };
  const { host, port, path, onError, collectTimeoutMillis, idleCollectMillis, metricProducers } = resolved;
  requireOption('host', 'a non-empty string', host, typeof host === 'string' && host !== '');
  requireOption(
    'port',
    'a whole number from 0 to 65535',
    port,
    Number.isInteger(port) && port >= 0 && port <= 65_535,
  );
  requireOption(
    'path',
    "a string that starts with '/', without '?' or '#'",
    path,
    typeof path === 'string' && /^\/[^?#]*$/.test(path),
  );
  for (const name of ['preventServerStart', 'scopeLabels', 'targetInfo'] as const) {
    requireOption(name, 'true or false', resolved[name], typeof resolved[name] === 'boolean');
  }
  requireOption('onError', 'a function', onError, onError === undefined || typeof onError === 'function');
  const millis = `a number of milliseconds up to ${MAX_MILLIS}`;
  requireOption(
    'collectTimeoutMillis',
    `${millis}, above 0`,
    collectTimeoutMillis,
    isMillis(collectTimeoutMillis) && collectTimeoutMillis > 0,
  );
  requireOption(
    'idleCollectMillis',
    `${millis}, 0 for never`,
    idleCollectMillis,
    isMillis(idleCollectMillis),
  );
  requireOption(
    'metricProducers',
    'a list of metric producers, of `bound.producer()` say',
    metricProducers,
    Array.isArray(metricProducers) && metricProducers.every(isProducer),
  );
  return Object.freeze(resolved);
}

function isProducer(value: unknown): boolean {
  return typeof (value as Partial<MetricProducer> | null | undefined)?.collect === 'function';
}

function isMillis(value: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_MILLIS;
}
