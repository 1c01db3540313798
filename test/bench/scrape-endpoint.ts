import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { vllmViews } from 'opentelemetry-instrumentation-vllm';
import { BoundMeterProvider } from 'opentelemetry-instrumentation-vllm/bound-meter';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';
import { everythingOn } from './everything-on.ts';
import { onSdk } from './metering.ts';
import { promMirror } from './prom-mirror.ts';

/** A service's metrics over HTTP. */
export interface ScrapeEndpoint {
  readonly name: string;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Makes nearly every series change. */
  readonly work: () => void;
}

/** What makes the endpoint of a service of so many engines, in each way that is compared. */
export const ENDPOINTS: readonly ((engines: number) => Promise<ScrapeEndpoint>)[] = [
  stockExporter,
  promClient,
  exporterOnSdk,
  exporterOnBoundMeter,
];

async function stockExporter(engines: number): Promise<ScrapeEndpoint> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const work = everythingOn(engines, new MeterProvider({ readers: [exporter], views: vllmViews() }));
  return {
    name: '@opentelemetry/exporter-prometheus',
    work,
    handle: (request, response) => exporter.getMetricsRequestHandler(request, response),
  };
}

async function promClient(engines: number): Promise<ScrapeEndpoint> {
  const { provider, reader } = onSdk();
  everythingOn(engines, provider);
  const registry = promMirror((await reader.collect()).resourceMetrics);
  return {
    name: 'prom-client',
    // It writes everything anew at each scrape, whether or not it has changed.
    work: () => {},
    handle: (_request, response) => {
      response.setHeader('content-type', registry.contentType);
      registry.metrics().then(
        (text) => response.end(text),
        (error: unknown) => response.destroy(error as Error),
      );
    },
  };
}

async function exporterOnSdk(engines: number): Promise<ScrapeEndpoint> {
  const exporter = new VllmPrometheusExporter({ preventServerStart: true, idleCollectMillis: 0 });
  const work = everythingOn(engines, new MeterProvider({ readers: [exporter], views: vllmViews() }));
  const handle = exporter.getMetricsRequestHandler;
  return { name: "VllmPrometheusExporter on the SDK's provider", work, handle };
}

async function exporterOnBoundMeter(engines: number): Promise<ScrapeEndpoint> {
  const bound = new BoundMeterProvider({ views: vllmViews() });
  const exporter = new VllmPrometheusExporter({
    preventServerStart: true,
    idleCollectMillis: 0,
    metricProducers: [bound.producer()],
  });
  void new MeterProvider({ readers: [exporter] });
  const work = everythingOn(engines, bound);
  const handle = exporter.getMetricsRequestHandler;
  return { name: 'VllmPrometheusExporter on BoundMeterProvider', work, handle };
}
