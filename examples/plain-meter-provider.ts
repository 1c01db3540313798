// How do I record requests with a MeterProvider of my own and show them to Prometheus?
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { recordPreemption, VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());

const exporter = new VllmPrometheusExporter({ port: 0, preventServerStart: true });
await exporter.startServer();
const provider = new MeterProvider({ readers: [exporter], views: vllmViews() });

const vllm = new VllmInstrumentation({ modelName: 'my-model' });
vllm.setMeterProvider(provider);

const request = vllm.engine(0).startRequest({ promptTokens: 9, maxTokens: 3 });
await request.run(async () => {
  request.recordTokens(1);
  await somewhereDeepInTheEngine();
  request.recordTokens(2);
});
request.end('length');

async function somewhereDeepInTheEngine(): Promise<void> {
  await Promise.resolve();
  recordPreemption(); // finds the request in the active Context
}

const response = await fetch(`http://localhost:${exporter.port}/metrics`);
for (const line of (await response.text()).split('\n')) {
  if (line.startsWith('vllm:request_num_preemptions')) console.log(line);
}
await provider.shutdown();

/*
Expected output:
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="1.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="2.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="3.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="4.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="5.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="10.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="20.0"} 1.0
vllm:request_num_preemptions_bucket{engine="0",model_name="my-model",le="+Inf"} 1.0
vllm:request_num_preemptions_sum{engine="0",model_name="my-model"} 1.0
vllm:request_num_preemptions_count{engine="0",model_name="my-model"} 1.0
*/
