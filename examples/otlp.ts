// How do the metrics reach an OpenTelemetry collector, and how do I know that they did?
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { ConfirmingMetricReader } from 'opentelemetry-instrumentation-vllm/otlp';

// Stands in for the collector: prints what arrives of one histogram.
const collector = createServer(async (request, response) => {
  for (const metric of (await readMetrics(request)).filter(
    ({ name }) => name === 'vllm:request_num_preemptions',
  )) {
    console.log('arrived:', metric.name, 'bounds', metric.histogram?.dataPoints[0]?.explicitBounds.join(' '));
    console.log('counts', metric.histogram?.dataPoints[0]?.bucketCounts.join(' '));
  }
  response.end('{}');
});
await new Promise<void>((resolve) => collector.listen(0, 'localhost', resolve));
const { port } = collector.address() as AddressInfo;

const reader = new ConfirmingMetricReader({
  exporter: new OTLPMetricExporter({ url: `http://localhost:${port}/v1/metrics` }),
});
const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
const vllm = new VllmInstrumentation({ modelName: 'my-model' });
vllm.setMeterProvider(provider);

const inference = vllm.engine(0).startRequest();
inference.recordPreemption();
inference.recordPreemption();
inference.end('stop');

console.log('collector up:', (await reader.flush({ timeoutMillis: 2000 })).delivered);
collector.closeAllConnections();
await new Promise((resolve) => collector.close(resolve));
console.log('collector down:', (await reader.flush({ timeoutMillis: 500 })).delivered);
process.exit(); // the exporter would go on retrying

interface ArrivedMetric {
  readonly name: string;
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly explicitBounds: readonly number[];
      readonly bucketCounts: readonly number[];
    }[];
  };
}

async function readMetrics(request: IncomingMessage): Promise<readonly ArrivedMetric[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as {
    resourceMetrics: { scopeMetrics: { metrics: ArrivedMetric[] }[] }[];
  };
  return body.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
}

/*
Expected output:
arrived: vllm:request_num_preemptions bounds 1 2 3 4 5 10 20
counts 0 1 0 0 0 0 0 0
collector up: true
collector down: false
*/
