import type { Resource } from '@opentelemetry/resources';
import {
  ConsoleMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type IMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { vllmViews } from '../metrics/views.ts';
import { ConfirmingMetricReader } from '../otlp/index.ts';
import { VllmPrometheusExporter } from '../prometheus/index.ts';
import { load, otlpPackage } from './packages.ts';
import type { MetricsConfiguration } from './read-environment.ts';

/** The metrics side of a started SDK. */
export interface StartedMetrics {
  readonly provider: MeterProvider;
  /** The reader that exports over OTLP, where one does. */
  readonly otlp: ConfirmingMetricReader | undefined;
}

/** @returns Undefined where metrics go nowhere. */
export function startMetrics(
  configuration: MetricsConfiguration,
  resource: Resource,
): StartedMetrics | undefined {
  const { exportIntervalMillis, exportTimeoutMillis, otlp: protocol, prometheus } = configuration;
  const times = { exportIntervalMillis, exportTimeoutMillis };
  const readers: IMetricReader[] = [];
  let otlp: ConfirmingMetricReader | undefined;
  if (protocol !== undefined) {
    const { OTLPMetricExporter } = load(otlpPackage('metrics', protocol)) as OtlpMetricExporterModule;
    otlp = new ConfirmingMetricReader({ exporter: new OTLPMetricExporter(), ...times });
    readers.push(otlp);
  }
  if (prometheus !== undefined) readers.push(new VllmPrometheusExporter(prometheus));
  if (configuration.console) {
    readers.push(new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter(), ...times }));
  }
  if (readers.length === 0) return undefined;
  return { provider: new MeterProvider({ readers, resource, views: vllmViews() }), otlp };
}

interface OtlpMetricExporterModule {
  readonly OTLPMetricExporter: new () => PushMetricExporter;
}
