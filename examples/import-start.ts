// How does a service that sets nothing up get its metrics out? It is started like this, which this file does:
//   OTEL_METRICS_EXPORTER=prometheus node --import opentelemetry-instrumentation-vllm/register service.js
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const service = fileURLToPath(new URL('import-start/service.ts', import.meta.url));
const child = spawn(process.execPath, ['--import', 'opentelemetry-instrumentation-vllm/register', service], {
  env: { ...process.env, OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: '9465' },
  stdio: 'inherit',
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});

/*
Expected output:
vllm:request_num_preemptions_sum{engine="0",model_name="my-model"} 1.0
vllm:request_num_preemptions_count{engine="0",model_name="my-model"} 1.0
*/
