// A service that knows of requests and nothing of providers, exporters or Views.
import { recordPreemption, VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';

const vllm = new VllmInstrumentation({ modelName: 'my-model' });

{
  using request = vllm.engine(0).startRequest({ promptTokens: 9 });
  request.run(() => recordPreemption());
  request.end('stop');
}

const port = process.env['OTEL_EXPORTER_PROMETHEUS_PORT'];
const metrics = await (await fetch(`http://localhost:${port}/metrics`)).text();
for (const line of metrics.split('\n')) {
  if (/^vllm:request_num_preemptions_(sum|count)/.test(line)) console.log(line);
}
