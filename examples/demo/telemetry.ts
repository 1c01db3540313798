import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { ConfirmingMetricReader } from 'opentelemetry-instrumentation-vllm/otlp';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';
import type { DemoOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

/** How long the exporter tries again where the OTLP receiver does not answer; then it says why. */
const EXPORT_TIMEOUT_MILLIS = 1500;

/** How long to wait for what the exporter says. */
const FLUSH_TIMEOUT_MILLIS = 3000;

/** The instrumentation and where its metrics go. */
export interface Telemetry {
  readonly vllm: VllmInstrumentation;
  /** Where to scrape. */
  readonly url: string;
  /** Sends the OTLP receiver, where there is one, what it has not got yet. Returns why not where that fails. */
  flush(): Promise<string | undefined>;
  shutdown(): Promise<void>;
}

/**
 * Sets up the instrumentation with a Prometheus endpoint and, where asked for, an OTLP exporter.
 *
 * @throws UsageError where the port cannot be listened on.
 */
export async function startTelemetry(
  { port, otlp }: Pick<DemoOptions, 'port' | 'otlp'>,
  maxModelLen: number,
): Promise<Telemetry> {
  const prometheus = await listen(port);
  const push = otlp === undefined ? undefined : createOtlpReader(otlp);
  const provider = new MeterProvider({
    views: [...vllmViews({ maxModelLen })],
    readers: push === undefined ? [prometheus] : [prometheus, push],
  });
  const vllm = new VllmInstrumentation({ modelName: 'simulated-8b', maxModelLen });
  vllm.setMeterProvider(provider);
  return {
    vllm,
    url: prometheus.url ?? '',
    async flush() {
      const outcome = await push?.flush({ timeoutMillis: FLUSH_TIMEOUT_MILLIS });
      return outcome?.delivered === false ? outcome.error.message : undefined;
    },
    async shutdown() {
      vllm.disable();
      await provider.shutdown();
    },
  };
}

async function listen(port: number): Promise<VllmPrometheusExporter> {
  const exporter = new VllmPrometheusExporter({ port, preventServerStart: true });
  try {
    await exporter.startServer();
    return exporter;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--port: cannot listen on ${port} (${reason}); 0 takes any free port`);
  }
}

function createOtlpReader(base: string): ConfirmingMetricReader {
  const url = `${base.replace(/\/+$/, '')}/v1/metrics`;
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MILLIS });
  return new ConfirmingMetricReader({ exporter, exportIntervalMillis: 5000, exportTimeoutMillis: 5000 });
}
