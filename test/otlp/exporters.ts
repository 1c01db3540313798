import {
  AggregationTemporalityPreference,
  OTLPMetricExporter as JsonExporter,
} from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';

export type Protocol = 'http/json' | 'http/protobuf';
export type Temporality = 'cumulative' | 'delta';

/** Every protocol with every temporality. */
export const COMBINATIONS: readonly { readonly protocol: Protocol; readonly temporality: Temporality }[] = [
  { protocol: 'http/json', temporality: 'cumulative' },
  { protocol: 'http/json', temporality: 'delta' },
  { protocol: 'http/protobuf', temporality: 'cumulative' },
  { protocol: 'http/protobuf', temporality: 'delta' },
];

/** What an exporter differs in. */
export interface ExporterOptions {
  readonly protocol?: Protocol;
  readonly temporality?: Temporality;
  readonly timeoutMillis?: number;
}

/** An exporter that, unless told otherwise, gives up after the first attempt if no retry is due at once. */
export function exporterTo(url: string, options: ExporterOptions = {}): PushMetricExporter {
  const { protocol = 'http/json', temporality = 'cumulative', timeoutMillis = 700 } = options;
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  const temporalityPreference =
    temporality === 'delta'
      ? AggregationTemporalityPreference.DELTA
      : AggregationTemporalityPreference.CUMULATIVE;
  return new Exporter({ url: `${url}/v1/metrics`, timeoutMillis, temporalityPreference });
}
