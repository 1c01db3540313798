// How do I mount the metrics in an Express application?
import type { AddressInfo } from 'node:net';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import express from 'express';
import { VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';

const exporter = new VllmPrometheusExporter({ preventServerStart: true });
const provider = new MeterProvider({ readers: [exporter], views: vllmViews() });
const vllm = new VllmInstrumentation({ modelName: 'my-model' });
vllm.setMeterProvider(provider);
vllm.engine(0).startRequest().end('stop');

const app = express();
app.get('/metrics', exporter.getMetricsRequestHandler);

const server = app.listen(0, async () => {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://localhost:${port}/metrics`);
  const lines = (await response.text()).split('\n');
  console.log(response.status, response.headers.get('content-type'));
  console.log(lines.find((line) => line.startsWith('vllm:request_num_preemptions_count')));
  server.closeAllConnections();
  server.close();
  await provider.shutdown();
});

/*
Expected output:
200 text/plain; version=0.0.4; charset=utf-8
vllm:request_num_preemptions_count{engine="0",model_name="my-model"} 1.0
*/
