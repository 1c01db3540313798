import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, type MeterProviderOptions } from '@opentelemetry/sdk-metrics';
import { onTestFinished } from 'vitest';
import { VllmPrometheusExporter, type VllmPrometheusExporterOptions } from '../../src/prometheus/index.ts';
import { OPEN_METRICS_ACCEPT, scrape } from './scrape.ts';

/** An exporter that listens on a free port and reads a MeterProvider, until the test ends. */
export interface Endpoint {
  readonly exporter: VllmPrometheusExporter;
  readonly provider: MeterProvider;
  readonly url: string;
  /** The exposition in the text format. */
  text(): Promise<string>;
  /** The exposition in OpenMetrics. */
  openMetrics(): Promise<string>;
}

/** Has no resource attributes unless the provider's options say so. */
export async function startEndpoint(
  options: VllmPrometheusExporterOptions = {},
  providerOptions: Omit<MeterProviderOptions, 'readers'> = {},
): Promise<Endpoint> {
  const exporter = new VllmPrometheusExporter({ host: '127.0.0.1', port: 0, ...options });
  const resource = resourceFromAttributes({});
  const provider = new MeterProvider({ resource, ...providerOptions, readers: [exporter] });
  onTestFinished(() => provider.shutdown());
  await exporter.startServer();
  const url = exporter.url!;
  const read = async (accept: string): Promise<string> => (await scrape(url, { accept })).body.toString();
  return {
    exporter,
    provider,
    url,
    text: () => read('text/plain'),
    openMetrics: () => read(OPEN_METRICS_ACCEPT),
  };
}
