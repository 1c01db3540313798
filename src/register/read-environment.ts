import {
  choice,
  choices,
  milliseconds,
  pairs,
  text,
  wholeNumber,
  wrong,
  type Environment,
} from './environment-variable.ts';
import { otlpProtocol, type OtlpProtocol } from './otlp-settings.ts';

const LOG_LEVELS = ['none', 'error', 'warn', 'info', 'debug', 'verbose', 'all'] as const;

/** What `OTEL_LOG_LEVEL` may be. */
export type LogLevel = (typeof LOG_LEVELS)[number];

const PROPAGATORS = ['tracecontext', 'baggage'] as const;

/** What `OTEL_PROPAGATORS` may list. */
export type PropagatorName = (typeof PROPAGATORS)[number];

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** What `OTEL_TRACES_SAMPLER` may be. */
export type SamplerName = (typeof SAMPLERS)[number];

/** What the environment asks for. */
export interface RegisterConfiguration {
  readonly logLevel: LogLevel;
  /** `service.name` among them where it is given. */
  readonly resourceAttributes: Readonly<Record<string, string>>;
  readonly propagators: ReadonlySet<PropagatorName>;
  readonly metrics: MetricsConfiguration;
  readonly traces: TracesConfiguration;
}

/** Where metrics go. */
export interface MetricsConfiguration {
  /** How to speak OTLP, where they go there. */
  readonly otlp: OtlpProtocol | undefined;
  /** Where to be scraped, if at all. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  readonly console: boolean;
  readonly exportIntervalMillis: number;
  /** Not above the interval. */
  readonly exportTimeoutMillis: number;
}

/** Where spans go. */
export interface TracesConfiguration {
  /** How to speak OTLP, where they go there. */
  readonly otlp: OtlpProtocol | undefined;
  readonly console: boolean;
  readonly sampler: SamplerName;
  /** The share of traces that a sampler by ratio takes. */
  readonly samplerRatio: number;
}

/**
 * Reads the variables of OpenTelemetry's "Environment Variable Specification" that `/register` knows. Those of an
 * exporter that is not in use are not looked at.
 *
 * @returns Undefined where `OTEL_SDK_DISABLED` is true.
 * @throws StartUpError naming the variable, what it may be and what came.
 */
export function readEnvironment(env: Environment): RegisterConfiguration | undefined {
  if (choice(env, 'OTEL_SDK_DISABLED', ['true', 'false']) === 'true') return undefined;
  return {
    logLevel: choice(env, 'OTEL_LOG_LEVEL', LOG_LEVELS) ?? 'warn',
    resourceAttributes: readResourceAttributes(env),
    propagators: choices(env, 'OTEL_PROPAGATORS', PROPAGATORS) ?? new Set(PROPAGATORS),
    metrics: readMetrics(env),
    traces: readTraces(env),
  };
}

function readResourceAttributes(env: Environment): Readonly<Record<string, string>> {
  const attributes = pairs(env, 'OTEL_RESOURCE_ATTRIBUTES');
  const serviceName = text(env, 'OTEL_SERVICE_NAME');
  return serviceName === undefined ? attributes : { ...attributes, 'service.name': serviceName };
}

function readMetrics(env: Environment): MetricsConfiguration {
  const exporters =
    choices(env, 'OTEL_METRICS_EXPORTER', ['otlp', 'prometheus', 'console']) ?? new Set(['otlp']);
  const exportIntervalMillis = milliseconds(env, 'OTEL_METRIC_EXPORT_INTERVAL') ?? 60_000;
  const exportTimeoutMillis = milliseconds(env, 'OTEL_METRIC_EXPORT_TIMEOUT') ?? 30_000;
  return {
    otlp: exporters.has('otlp') ? otlpProtocol(env, 'METRICS') : undefined,
    prometheus: exporters.has('prometheus') ? readPrometheus(env) : undefined,
    console: exporters.has('console'),
    exportIntervalMillis,
    exportTimeoutMillis: Math.min(exportTimeoutMillis, exportIntervalMillis),
  };
}

function readPrometheus(env: Environment): { host: string; port: number } {
  return {
    host: text(env, 'OTEL_EXPORTER_PROMETHEUS_HOST') ?? 'localhost',
    port: wholeNumber(env, 'OTEL_EXPORTER_PROMETHEUS_PORT', 0, 65_535) ?? 9464,
  };
}

function readTraces(env: Environment): TracesConfiguration {
  const exporters = choices(env, 'OTEL_TRACES_EXPORTER', ['otlp', 'console']) ?? new Set();
  const inUse = exporters.size > 0;
  const sampler =
    (inUse ? choice(env, 'OTEL_TRACES_SAMPLER', SAMPLERS) : undefined) ?? 'parentbased_always_on';
  return {
    otlp: exporters.has('otlp') ? otlpProtocol(env, 'TRACES') : undefined,
    console: exporters.has('console'),
    sampler,
    samplerRatio: sampler.endsWith('traceidratio') ? readRatio(env) : 1,
  };
}

function readRatio(env: Environment): number {
  const value = text(env, 'OTEL_TRACES_SAMPLER_ARG');
  const ratio = Number(value ?? 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw wrong('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1', value);
}
