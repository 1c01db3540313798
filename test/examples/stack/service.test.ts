import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { histogramsOf } from '../../otlp/arrived-histograms.ts';
import { startReceiver } from '../../otlp/receiver.ts';
import { InstalledPackage } from '../../package/installed-package.ts';
import { directoryOf, ServiceProcess } from '../../register/service-process.ts';

const PACKAGES = [
  'api',
  'context-async-hooks',
  'core',
  'exporter-metrics-otlp-proto',
  'exporter-trace-otlp-proto',
  'resources',
  'sdk-metrics',
  'sdk-trace',
].map((name) => `@opentelemetry/${name}`);

// Node.js 20 runs no TypeScript; the stack's container has a newer one.
it.skipIf(process.versions.node.startsWith('20.'))(
  'the service of the stack sends its metrics and spans where its environment says, and ends when told to',
  async () => {
    const installed = new InstalledPackage();
    onTestFinished(() => installed.remove());
    installed.provide(PACKAGES);
    const directory = directoryOf(installed);
    const folder = dirname(fileURLToPath(new URL('../../../examples/stack/service.ts', import.meta.url)));
    cpSync(dirname(folder), join(directory, 'examples'), { recursive: true });
    const receiver = await startReceiver();
    const service = new ServiceProcess(directory, {
      code: `import './examples/stack/service.ts';`,
      env: {
        OTEL_SERVICE_NAME: 'gateway',
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_METRIC_EXPORT_INTERVAL: '200',
      },
    });
    await receiver.arrived(5);
    service.signal('SIGTERM');
    expect(await service.ended).toMatchObject({ signal: 'SIGTERM' });
    expect(new Set(receiver.arrivals.map(({ path }) => path))).toEqual(
      new Set(['/v1/metrics', '/v1/traces']),
    );
    const last = receiver.arrivals.findLast(({ path }) => path === '/v1/metrics')!;
    const preemptions = histogramsOf(last).filter(({ name }) => name === 'vllm:request_num_preemptions');
    expect(preemptions.length).toBeGreaterThan(0);
  },
);
