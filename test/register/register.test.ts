import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { InstalledPackage } from '../package/installed-package.ts';
import { histogramsOf } from '../otlp/arrived-histograms.ts';
import { startReceiver, type Arrival, type Receiver } from '../otlp/receiver.ts';
import { directoryOf, ServiceProcess, type Ended, type ServiceOptions } from './service-process.ts';

const BASE = ['api', 'context-async-hooks', 'core', 'resources', 'sdk-metrics'];
const packages = (...names: string[]): string[] => names.map((name) => `@opentelemetry/${name}`);
const ALL = packages(
  ...BASE,
  'exporter-metrics-otlp-proto',
  'exporter-metrics-otlp-http',
  'exporter-trace-otlp-proto',
  'sdk-trace',
);

let installed: InstalledPackage;
let directory: string;
beforeAll(() => {
  installed = new InstalledPackage();
  directory = directoryOf(installed);
  installed.provide(ALL);
});
afterAll(() => installed.remove());

function start(options: ServiceOptions): ServiceProcess {
  return new ServiceProcess(directory, options);
}

/** Runs a service to its end. */
function run(options: ServiceOptions): Promise<Ended> {
  return start(options).ended;
}

/** One request that was preempted twice and one that is in flight. */
const REQUESTS = `
  const vllm = new VllmInstrumentation({ modelName: 'test-model' });
  const ended = vllm.engine(0).startRequest();
  ended.recordPreemption();
  await ended.run(async () => { await undefined; recordPreemption(); });
  ended.end('stop');
  // Held: one that is garbage-collected counts as aborted before the process ends.
  const inFlight = (globalThis.held = vllm.engine(0).startRequest());
`;
const IMPORTS = `import { recordPreemption, VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';`;
const SERVICE = IMPORTS + REQUESTS;
/** The same, and nothing but a signal ends it. */
const WAITING_SERVICE = `${SERVICE} setInterval(() => {}, 60_000); console.log('ready');`;

/** The preemptions of the requests above, once the one in flight has been aborted. */
const BOTH_REQUESTS = { count: 2, sum: 2, counts: [1, 1, 0, 0, 0, 0, 0, 0] };

const otlpTo = (receiver: Receiver): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
});

const SUCCESS = { code: 0, signal: null, stdout: '', stderr: '' };

function preemptionsOf(arrival: Arrival): unknown {
  const found = histogramsOf(arrival).filter(({ name }) => name === 'vllm:request_num_preemptions');
  expect(found).toHaveLength(1);
  return found[0];
}

/** Which port was free a moment ago. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

/** Node.js 20 takes SDK 2.x, and that no newer API. */
const SUITED = process.versions.node.startsWith('20.') ? ['@opentelemetry/api@1.9'] : [];

describe('a service started with /register', () => {
  it.each([
    { flag: '--import', code: SERVICE },
    {
      flag: '--require',
      code: `const { recordPreemption, VllmInstrumentation } = require('opentelemetry-instrumentation-vllm');
        (async () => { ${REQUESTS} })();`,
    },
  ] as const)(
    'exports over OTLP when it runs empty, $flag, the request in flight as an abort',
    async (row) => {
      const receiver = await startReceiver();
      expect(await run({ ...row, env: otlpTo(receiver) })).toEqual(SUCCESS);
      expect(receiver.arrivals.map(({ path, contentType }) => [path, contentType])).toEqual([
        ['/v1/metrics', 'application/x-protobuf'],
      ]);
      expect(preemptionsOf(receiver.arrivals[0]!)).toMatchObject({
        ...BOTH_REQUESTS,
        temporality: 'cumulative',
      });
    },
  );

  it('follows the variables of OTLP and of the resource', async () => {
    const receiver = await startReceiver();
    const env = {
      ...otlpTo(receiver),
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
      OTEL_SERVICE_NAME: 'gateway',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    };
    expect(await run({ code: SERVICE, env })).toEqual(SUCCESS);
    const [arrival] = receiver.arrivals;
    expect(arrival!.contentType).toBe('application/json');
    expect(preemptionsOf(arrival!)).toMatchObject({ ...BOTH_REQUESTS, temporality: 'delta' });
    expect(resourceOf(arrival!)).toMatchObject({
      'service.name': 'gateway',
      'deployment.environment.name': 'test',
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
    });
  });

  it('exports at the interval that it is told', async () => {
    const receiver = await startReceiver();
    const env = { ...otlpTo(receiver), OTEL_METRIC_EXPORT_INTERVAL: '20' };
    start({ code: WAITING_SERVICE, env });
    await receiver.arrived(2);
    expect(preemptionsOf(receiver.arrivals[1]!)).toMatchObject({ count: 1, sum: 2 });
  });

  it('is scraped, beside OTLP, and shows the same numbers', async () => {
    const receiver = await startReceiver();
    const port = await freePort();
    const env = {
      ...otlpTo(receiver),
      OTEL_METRICS_EXPORTER: 'prometheus,otlp',
      OTEL_EXPORTER_PROMETHEUS_PORT: port,
    };
    const code = `${SERVICE}
      inFlight.end('abort');
      const exposition = await (await fetch('http://localhost:${port}/metrics')).text();
      console.log(exposition.split('\\n').filter((line) => line.startsWith('vllm:request_num_preemptions_')).join('\\n'));`;
    const { stdout, ...ended } = await run({ code, env });
    expect(ended).toEqual({ code: 0, signal: null, stderr: '' });
    const labels = 'engine="0",model_name="test-model"';
    expect(stdout.split('\n').filter((line) => /le="[123].0"|_sum|_count/.test(line))).toEqual([
      `vllm:request_num_preemptions_bucket{${labels},le="1.0"} 1.0`,
      `vllm:request_num_preemptions_bucket{${labels},le="2.0"} 2.0`,
      `vllm:request_num_preemptions_bucket{${labels},le="3.0"} 2.0`,
      `vllm:request_num_preemptions_sum{${labels}} 2.0`,
      `vllm:request_num_preemptions_count{${labels}} 2.0`,
    ]);
    expect(preemptionsOf(receiver.arrivals[0]!)).toMatchObject(BOTH_REQUESTS);
  });

  it('prints its metrics where it is told to', async () => {
    const { stdout, ...ended } = await run({ code: SERVICE, env: { OTEL_METRICS_EXPORTER: 'console' } });
    expect(ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(stdout).toContain('vllm:request_num_preemptions');
  });

  it('goes on where the Prometheus port is taken, and says so', async () => {
    const taken = createServer().listen(0, 'localhost');
    await once(taken, 'listening');
    onTestFinished(() => {
      taken.close();
    });
    const { port } = taken.address() as AddressInfo;
    const env = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: String(port) };
    const code = `${SERVICE} setTimeout(() => console.log('served'), 50);`;
    const { stderr, ...ended } = await run({ code, env });
    expect(ended).toEqual({ code: 0, signal: null, stdout: 'served\n' });
    expect(stderr).toMatch(
      new RegExp(
        `^opentelemetry-instrumentation-vllm/prometheus: the server on localhost:${port} failed: .*EADDRINUSE.*\n$`,
      ),
    );
    expect(await run({ code, env: { ...env, OTEL_LOG_LEVEL: 'none' } })).toEqual({ ...ended, stderr: '' });
  });

  it('says to stderr, and nothing to stdout, whatever the log level', async () => {
    const receiver = await startReceiver();
    const { stderr, ...ended } = await run({
      code: SERVICE,
      env: { ...otlpTo(receiver), OTEL_LOG_LEVEL: 'all' },
    });
    expect(ended).toEqual({ code: 0, signal: null, stdout: '' });
    expect(stderr).toContain('items to be sent');
  });

  it('says what the receiver said, where the last metrics did not arrive', async () => {
    const receiver = await startReceiver((response) => response.writeHead(400).end());
    const { stderr, ...ended } = await run({ code: SERVICE, env: otlpTo(receiver) });
    expect(ended).toEqual({ code: 0, signal: null, stdout: '' });
    expect(stderr).toContain(
      'opentelemetry-instrumentation-vllm/register: the last metrics did not arrive: Bad Request\n',
    );
  });

  it('is not touched where the SDK is disabled, whatever is installed', async () => {
    const code = `${SERVICE} console.log(recordPreemption(), vllm.status().meterProvider);`;
    installed.provide(packages('api'));
    onTestFinished(() => installed.provide(ALL));
    expect(await run({ code, env: { OTEL_SDK_DISABLED: 'true', OTEL_METRICS_EXPORTER: 'x' } })).toEqual({
      ...SUCCESS,
      stdout: 'false false\n',
    });
  });

  it('finds W3C propagators, or those that it is told', async () => {
    const code = `import { propagation } from '@opentelemetry/api'; console.log(propagation.fields().join());`;
    const env = { OTEL_METRICS_EXPORTER: 'none' };
    expect(await run({ code, env })).toEqual({ ...SUCCESS, stdout: 'traceparent,tracestate,baggage\n' });
    expect(await run({ code, env: { ...env, OTEL_PROPAGATORS: 'baggage' } })).toEqual({
      ...SUCCESS,
      stdout: 'baggage\n',
    });
    expect(await run({ code, env: { ...env, OTEL_PROPAGATORS: 'none' } })).toEqual({
      ...SUCCESS,
      stdout: '\n',
    });
  });

  it('keeps the MeterProvider that is registered before, and says that it has set nothing up', async () => {
    const earlier = join(directory, 'earlier.cjs');
    writeFileSync(
      earlier,
      `const { metrics } = require('@opentelemetry/api');
       const { MeterProvider } = require('@opentelemetry/sdk-metrics');
       metrics.setGlobalMeterProvider(globalThis.earlier = new MeterProvider());`,
    );
    const code = `import { metrics } from '@opentelemetry/api';
      import { shutdown } from 'opentelemetry-instrumentation-vllm/register';
      await shutdown();
      console.log(metrics.getMeterProvider() === globalThis.earlier);`;
    expect(await run({ before: ['--require', earlier], code })).toEqual({
      ...SUCCESS,
      stdout: 'true\n',
      stderr:
        'opentelemetry-instrumentation-vllm/register: a MeterProvider is registered already, so nothing is set up; give vllmViews() to that one\n',
    });
  });

  it('says so where another version of the API is in use, which would lose every metric', async () => {
    const before = join(directory, 'old.cjs');
    writeFileSync(before, `globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.0.0' };`);
    const { stderr, ...ended } = await run({
      before: ['--require', before],
      code: `console.log('served')`,
      env: { OTEL_METRICS_EXPORTER: 'console' },
    });
    expect(ended).toEqual({ code: 0, signal: null, stdout: 'served\n' });
    expect(stderr).toBe(
      'opentelemetry-instrumentation-vllm/register: another version of @opentelemetry/api is in use already, so no metrics are recorded; install one only\n',
    );
  });
});

describe('spans', () => {
  const spansOf = (receiver: Receiver): number =>
    receiver.arrivals
      .filter(({ path }) => path === '/v1/traces')
      .reduce((count, { body }) => count + body.toString('latin1').split('llm_request').length - 1, 0);

  it('go nowhere unless they are asked for', async () => {
    const receiver = await startReceiver();
    expect(await run({ code: SERVICE, env: otlpTo(receiver) })).toEqual(SUCCESS);
    expect(receiver.arrivals.map(({ path }) => path)).toEqual(['/v1/metrics']);
  });

  it('go over OTLP, the one of the request in flight too', async () => {
    const receiver = await startReceiver();
    const env = { ...otlpTo(receiver), OTEL_METRICS_EXPORTER: 'otlp', OTEL_TRACES_EXPORTER: 'otlp' };
    expect(await run({ code: SERVICE, env })).toEqual(SUCCESS);
    expect(spansOf(receiver)).toBe(2);
  });

  it('are not sampled where the sampler says so, and every request is counted', async () => {
    const receiver = await startReceiver();
    const env = {
      ...otlpTo(receiver),
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    };
    expect(await run({ code: SERVICE, env })).toEqual(SUCCESS);
    expect(receiver.arrivals.map(({ path }) => path)).toEqual(['/v1/metrics']);
    expect(preemptionsOf(receiver.arrivals[0]!)).toMatchObject(BOTH_REQUESTS);
  });

  it('are printed where it is told to', async () => {
    const env = { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'console' };
    const { stdout, ...ended } = await run({ code: SERVICE, env });
    expect(ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(stdout).toContain("name: 'llm_request'");
  });
});

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'that the service does not handle, %s, ends it as ever, after the last metrics',
    async (signal) => {
      const receiver = await startReceiver();
      const service = start({ code: WAITING_SERVICE, env: otlpTo(receiver) });
      await service.said('ready');
      service.signal(signal);
      expect(await service.ended).toEqual({ code: null, signal, stdout: 'ready\n', stderr: '' });
      expect(preemptionsOf(receiver.arrivals[0]!)).toMatchObject(BOTH_REQUESTS);
    },
  );

  it('ends the service at once when it is the second', async () => {
    const receiver = await startReceiver(() => {});
    const service = start({ code: WAITING_SERVICE, env: otlpTo(receiver) });
    await service.said('ready');
    service.signal('SIGTERM');
    await receiver.arrived(1);
    service.signal('SIGINT');
    expect(await service.ended).toEqual({ code: null, signal: 'SIGINT', stdout: 'ready\n', stderr: '' });
  });

  it('that the service handles is its affair: requests go on, and the rest is sent when it runs empty', async () => {
    const receiver = await startReceiver();
    const code = `${SERVICE}
      const alive = setInterval(() => {}, 60_000);
      process.on('SIGTERM', () => {
        setTimeout(() => {
          inFlight.recordPreemption();
          inFlight.recordPreemption();
          inFlight.recordPreemption();
          inFlight.end('stop');
          clearInterval(alive);
          process.exitCode = 3;
        }, 20);
      });
      console.log('ready');`;
    const service = start({ code, env: otlpTo(receiver) });
    await service.said('ready');
    service.signal('SIGTERM');
    expect(await service.ended).toEqual({ code: 3, signal: null, stdout: 'ready\n', stderr: '' });
    expect(preemptionsOf(receiver.arrivals[0]!)).toMatchObject({ count: 1, sum: 2 });
    expect(preemptionsOf(receiver.arrivals.at(-1)!)).toMatchObject({ count: 2, sum: 5 });
  });

  it('is not lost on a library that passes it on where nobody else handles it', async () => {
    const code = `
      const passOn = (signal) => {
        if (process.listenerCount(signal) > 1) return;
        process.removeListener(signal, passOn);
        process.kill(process.pid, signal);
      };
      process.on('SIGTERM', passOn);
      setInterval(() => {}, 60_000);
      console.log('ready');`;
    const service = start({ code, env: { OTEL_METRICS_EXPORTER: 'none' } });
    await service.said('ready');
    service.signal('SIGTERM');
    expect(await service.ended).toMatchObject({ code: null, signal: 'SIGTERM' });
  });

  it('whose handler ends the process by itself calls shutdown before', async () => {
    const receiver = await startReceiver();
    const code = `import { shutdown } from 'opentelemetry-instrumentation-vllm/register';
      ${SERVICE}
      process.on('SIGTERM', async () => {
        await Promise.all([shutdown(), shutdown()]);
        process.exit(4);
      });
      setInterval(() => {}, 60_000);
      console.log('ready');`;
    const service = start({ code, env: otlpTo(receiver) });
    await service.said('ready');
    service.signal('SIGTERM');
    expect(await service.ended).toEqual({ code: 4, signal: null, stdout: 'ready\n', stderr: '' });
    expect(preemptionsOf(receiver.arrivals.at(-1)!)).toMatchObject(BOTH_REQUESTS);
  });
});

describe('a receiver that is silent', () => {
  it('holds neither a service that runs empty nor one that gets a signal for more than 5 seconds', async () => {
    const receiver = await startReceiver(() => {});
    const env = { ...otlpTo(receiver), OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
    const idle = run({ code: `${SERVICE} process.exitCode = 5;`, env });
    const signalled = start({ code: WAITING_SERVICE, env });
    await signalled.said('ready');
    signalled.signal('SIGTERM');
    const said = 'the last metrics did not arrive: no answer in 5000 ms';
    expect(await idle).toMatchObject({ code: 5, signal: null, stderr: expect.stringContaining(said) });
    expect(await signalled.ended).toMatchObject({ signal: 'SIGTERM', stderr: expect.stringContaining(said) });
  });
});

describe('a service that cannot be started', () => {
  it.each([{ flag: '--import' }, { flag: '--require' }] as const)(
    'for a bad value ends with one line, $flag, before any of its code runs',
    async ({ flag }) => {
      const env = { OTEL_METRICS_EXPORTER: 'promethus' };
      expect(await run({ flag, code: `console.log('running')`, env })).toEqual({
        code: 1,
        signal: null,
        stdout: '',
        stderr:
          'opentelemetry-instrumentation-vllm/register: OTEL_METRICS_EXPORTER must be none or a list of otlp, prometheus, console with commas between; got "promethus"\n',
      });
    },
  );

  it.each([
    {
      env: { OTEL_METRICS_EXPORTER: 'prometheus' },
      present: ['api'],
      missing: ['context-async-hooks', 'core', 'resources', 'sdk-metrics'],
    },
    { env: {}, present: BASE, missing: ['exporter-metrics-otlp-proto'] },
    {
      env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_EXPORTER: 'otlp' },
      present: BASE,
      missing: ['exporter-metrics-otlp-grpc', 'sdk-trace', 'exporter-trace-otlp-grpc'],
    },
    {
      env: { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'console' },
      present: BASE,
      missing: ['sdk-trace'],
    },
  ])('for want of $missing names them, and $env', async ({ env, present, missing }) => {
    installed.provide(packages(...present));
    onTestFinished(() => installed.provide(ALL));
    expect(await run({ code: `console.log('running')`, env })).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `opentelemetry-instrumentation-vllm/register: packages are missing; install them with: npm install ${[...packages(...missing), ...SUITED].join(' ')}\n`,
    });
  });
});

function resourceOf({ body }: Arrival): unknown {
  const request = JSON.parse(body.toString()) as {
    resourceMetrics: { resource: { attributes: { key: string; value: { stringValue: string } }[] } }[];
  };
  const { attributes } = request.resourceMetrics[0]!.resource;
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
}
