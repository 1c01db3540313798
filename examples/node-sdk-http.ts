// How does the server span of the HTTP instrumentation become the request?
import { createRequire } from 'node:module';
import type * as Http from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { recordPreemption, VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';

const vllm = new VllmInstrumentation({ modelName: 'my-model' });
const exporter = new VllmPrometheusExporter({ preventServerStart: true });
const spans = new InMemorySpanExporter();
const sdk = new NodeSDK({
  instrumentations: [new HttpInstrumentation(), vllm],
  metricReaders: [exporter],
  views: vllmViews(),
  spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
});
sdk.start();

// The HTTP instrumentation patches what is required after it. In a service of your own, start the SDK with --import.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof Http;

const server = createServer((request, response) => {
  if (request.url === '/metrics') return exporter.getMetricsRequestHandler(request, response);
  // With the response at hand, a client that leaves before its end is an abort.
  const inference = vllm.adopt(trace.getActiveSpan(), { engine: 0, promptTokens: 12, response });
  inference.recordTokens(1);
  recordPreemption(); // the server span is active, so the request is found
  inference.recordTokens(1);
  if (request.url === '/v1/slow') return response.write('one token');
  response.end('two tokens'); // ends the span, and so the request
});
await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
const { port } = server.address() as AddressInfo;

await (await fetch(`http://localhost:${port}/v1/completions`)).text();
const patience = new AbortController();
await fetch(`http://localhost:${port}/v1/slow`, { signal: patience.signal });
patience.abort();
while (vllm.status().requestsInFlight > 0) await new Promise((resolve) => setImmediate(resolve));

const metrics = await (await fetch(`http://localhost:${port}/metrics`)).text();
for (const line of metrics.split('\n')) {
  if (/^vllm:(request_num_preemptions_(sum|count)|generation_tokens_total)/.test(line)) console.log(line);
  if (/^vllm:request_success_total.*"(stop|abort)"/.test(line)) console.log(line);
}
for (const { name, attributes } of spans.getFinishedSpans()) {
  if ('vllm.request.num_preemptions' in attributes) {
    console.log('span', name, attributes['vllm.request.num_preemptions']);
  }
}

server.closeAllConnections();
server.close();
vllm.disable(); // ends what is still in flight, before the last collection
await sdk.shutdown();

/*
Expected output:
vllm:request_num_preemptions_sum{engine="0",model_name="my-model"} 2.0
vllm:request_num_preemptions_count{engine="0",model_name="my-model"} 2.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="my-model"} 1.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="my-model"} 1.0
vllm:generation_tokens_total{engine="0",model_name="my-model"} 4.0
span GET 1
span GET 1
*/
