// How do I mount the metrics in a Fastify application?
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { fastify } from 'fastify';
import { VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';

const exporter = new VllmPrometheusExporter({ preventServerStart: true });
const provider = new MeterProvider({ readers: [exporter], views: vllmViews() });
const vllm = new VllmInstrumentation({ modelName: 'my-model' });
vllm.setMeterProvider(provider);
vllm.engine(0).startRequest().end('stop');

const app = fastify();
app.get('/metrics', (request, reply) => {
  reply.hijack();
  exporter.getMetricsRequestHandler(request.raw, reply.raw);
});

const address = await app.listen({ port: 0 });
const response = await fetch(`${address}/metrics`);
const lines = (await response.text()).split('\n');
console.log(response.status, response.headers.get('content-type'));
console.log(lines.find((line) => line.startsWith('vllm:request_num_preemptions_count')));
await app.close();
await provider.shutdown();

/*
Expected output:
200 text/plain; version=0.0.4; charset=utf-8
vllm:request_num_preemptions_count{engine="0",model_name="my-model"} 1.0
*/
