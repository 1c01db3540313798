import { once } from 'node:events';
import type * as Http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { MeterProvider, type CollectionResult, type MetricProducer } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { VllmInstrumentation, vllmViews } from '../../src/index.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import { BASE, Reading } from '../support/reading.ts';
import { TestReader } from '../support/test-reader.ts';
import { useContextManager } from '../support/service.ts';
import { collect } from './collected.ts';

const instrumentation = new HttpInstrumentation();
// Patched where it is required after the instrumentation has been made.
const http = createRequire(import.meta.url)('node:http') as typeof Http;

describe('the HTTP instrumentation', () => {
  it('records its histograms into a provider that registerInstrumentations hands it', async () => {
    const provider = new BoundMeterProvider();
    const unregister = registerInstrumentations({
      instrumentations: [instrumentation],
      meterProvider: provider,
    });
    onTestFinished(unregister);
    const server = http.createServer((_, response) => response.end('done')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const producer = provider.producer();
    const closed = new Promise<void>((resolve) => {
      server.once('request', (_: unknown, response: Http.ServerResponse) => {
        // Behind every listener there is by then, the instrumentation's own among them.
        response.once('close', () => setImmediate(resolve));
      });
    });
    const [answer] = (await once(http.get({ port, host: '127.0.0.1', agent: false }), 'response')) as [
      Http.IncomingMessage,
    ];
    answer.resume();
    await once(answer, 'close');
    await closed;
    const collected = await collect(producer);
    // Its name and attributes are others on each of the SDK's lines.
    const name = collected.names.find((one) => one.startsWith('http.server.'))!;
    expect(collected.points(name).map(({ value }) => value)).toMatchObject([{ count: 1 }]);
    expect(Object.values(collected.points(name)[0]!.attributes)).toEqual(
      expect.arrayContaining(['GET', 200]),
    );
  });
});

/** A service that lives through two requests, one of them preempted twice. */
function liveThrough(vllm: VllmInstrumentation): void {
  const engine = vllm.engine(0);
  for (const requestId of ['a', 'b']) engine.startRequest({ requestId, promptTokens: 10, maxTokens: 100 });
  vllm.observe(message(51, output('a', 1, { events: [queued(50.1), scheduled(50.2)] }), output('b', 1)));
  vllm.observe(message(52, output('a', 3, { events: [preempted(51.5), scheduled(51.6), preempted(51.7)] })));
  vllm.observe(message(53, output('a', 1, { finish_reason: 0 }), output('b', 1, { finish_reason: 1 })));
}

async function readingOf(producer: MetricProducer): Promise<Reading> {
  const result: CollectionResult = await producer.collect();
  expect(result.errors).toEqual([]);
  return new Reading(result.resourceMetrics);
}

describe('the vLLM instrumentation', () => {
  it('shows on a BoundMeterProvider what it shows on the one of the SDK, to the last bucket', async () => {
    useContextManager();
    const reader = new TestReader();
    const sdk = new MeterProvider({ readers: [reader], views: vllmViews() });
    const bound = new BoundMeterProvider({ views: vllmViews() });
    for (const provider of [sdk, bound]) {
      const vllm = new VllmInstrumentation({ modelName: 'test-model', clock: new ManualClock() });
      vllm.setMeterProvider(provider);
      liveThrough(vllm);
    }
    const [theirs, ours] = [await reader.read(), await readingOf(bound.producer())];
    const facts = (reading: Reading) =>
      Object.fromEntries(
        reading.metrics.map(({ descriptor, dataPoints, dataPointType, aggregationTemporality }) => [
          descriptor.name,
          {
            description: descriptor.description,
            dataPointType,
            aggregationTemporality,
            points: Object.fromEntries(
              dataPoints.map(({ attributes, value }) => [JSON.stringify(attributes), value]),
            ),
          },
        ]),
      );
    expect(facts(ours)).toEqual(facts(theirs));
    expect(ours.names).toContain('vllm:request_num_preemptions');
    expect(ours.histogram('vllm:request_num_preemptions')).toEqual({
      count: 2,
      sum: 2,
      buckets: [1, 1, 0, 0, 0, 0, 0, 0],
    });
    expect(ours.value('vllm:num_preemptions')).toBe(2);
  });

  it('has every histogram at zero once the engine is known, and none of an engine that is removed', async () => {
    const bound = new BoundMeterProvider({ views: vllmViews() });
    const producer = bound.producer();
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(bound);
    // A provider may be set more than once: NodeSDK and registerInstrumentations both do.
    vllm.setMeterProvider(bound);
    vllm.engine(0);
    vllm.engine(1);
    const engines = (reading: Reading, name: string) =>
      reading.metrics
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => String(attributes['engine'])))
        .sort();
    const known = await readingOf(producer);
    const preemptions = catalogue.find(({ name }) => name === 'vllm:request_num_preemptions')!;
    expect(engines(known, preemptions.name)).toEqual(['0', '1']);
    expect(known.histogram(preemptions.name, BASE)).toMatchObject({ count: 0, sum: 0 });
    vllm.removeEngine(1);
    const after = await readingOf(producer);
    for (const { descriptor } of after.metrics) expect(engines(after, descriptor.name)).not.toContain('1');
    expect(engines(after, preemptions.name)).toEqual(['0']);
  });
});
