import { ValueType } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type CollectionResult,
  type DataPoint,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import express from 'express';
import fastify from 'fastify';
import { EventEmitter, once } from 'node:events';
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { captureDiag } from './captured-diag.ts';
import { startEndpoint } from './endpoint.ts';
import { OPEN_METRICS_ACCEPT, scrape, type Scraped } from './scrape.ts';

const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const PLAIN_TYPE = 'text/plain; charset=utf-8';

describe('a scrape', () => {
  it.each([
    [{}, TEXT_TYPE],
    [{ accept: '*/*' }, TEXT_TYPE],
    [{ accept: 'application/json' }, TEXT_TYPE],
    [{ accept: OPEN_METRICS_ACCEPT }, OPEN_METRICS_TYPE],
    [
      { accept: 'application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.3' },
      TEXT_TYPE,
    ],
  ])('with %j gets %s', async (headers, type) => {
    const { provider, url } = await startEndpoint();
    provider.getMeter('app').createCounter('c').add(1);
    const answer = await scrape(url, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.headers.vary).toBe('Accept, Accept-Encoding');
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(answer.body.toString().endsWith('# EOF\n')).toBe(type === OPEN_METRICS_TYPE);
  });

  it('gets gzip where it prefers it and the body is worth it', async () => {
    const { provider, url, text } = await startEndpoint();
    const counter = provider.getMeter('app').createCounter('c');
    counter.add(1);
    expect((await scrape(url, { 'accept-encoding': 'gzip' })).headers['content-encoding']).toBeUndefined();
    for (let index = 0; index < 100; index += 1) counter.add(index, { index });
    const zipped = await scrape(url, { 'accept-encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.headers['content-length']).toBe(String(zipped.body.length));
    expect(gunzipSync(zipped.body).toString()).toBe(await text());
    const plain = await scrape(url, { 'accept-encoding': 'gzip;q=0.5,identity;q=0.6' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body.toString()).toBe(await text());
  });

  it('by HEAD gets the headers of GET and no body', async () => {
    const { provider, url } = await startEndpoint();
    provider.getMeter('app').createCounter('c').add(1);
    const get = await scrape(url);
    const head = await scrape(url, {}, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.body.length).toBe(0);
    for (const name of ['content-type', 'content-length', 'vary'])
      expect(head.headers[name]).toBe(get.headers[name]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
    'by %s gets 405 with what is allowed',
    async (method) => {
      const { url } = await startEndpoint();
      const answer = await scrape(url, {}, method);
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe('GET, HEAD');
      expect(answer.headers['content-type']).toBe(PLAIN_TYPE);
      expect(answer.body.toString()).toBe('only GET and HEAD are answered here\n');
    },
  );

  it('of another path gets 404 with where the metrics are, and a query makes no other path', async () => {
    const { url } = await startEndpoint({ path: '/vllm/metrics' });
    expect(new URL(url).pathname).toBe('/vllm/metrics');
    const answer = await scrape(new URL('/metrics', url).href);
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe(PLAIN_TYPE);
    expect(answer.body.toString()).toBe('metrics are at /vllm/metrics\n');
    expect((await scrape(`${url}/`)).status).toBe(404);
    expect((await scrape(`${url}?name[]=c`)).status).toBe(200);
  });

  it('shares one collection with those of the same time, in whatever formats', async () => {
    const { exporter, provider, text } = await startEndpoint();
    let calls = 0;
    let arrived = 0;
    const all = deferred();
    provider
      .getMeter('app')
      .createObservableGauge('calls')
      .addCallback(async (result) => {
        calls += 1;
        await all.promise;
        result.observe(calls);
      });
    const server = createServer((request, response) => {
      exporter.getMetricsRequestHandler(request, response);
      arrived += 1;
      if (arrived === 10) all.resolve();
    });
    const url = await listen(server);
    const accepts = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? '*/*' : OPEN_METRICS_ACCEPT));
    const answers = await Promise.all(accepts.map((accept) => scrape(url, { accept })));
    expect(answers.map(({ body }) => body.toString())).toEqual(
      accepts.map((accept) => `# TYPE calls gauge\ncalls 1.0\n${accept === '*/*' ? '' : '# EOF\n'}`),
    );
    expect(calls).toBe(1);
    expect(exporter.status()).toEqual({ collections: 1, failedCollections: 0, callbackErrors: 0 });
    expect(await text()).toBe('# TYPE calls gauge\ncalls 2.0\n');
  });
});

describe('a large exposition', () => {
  const COUNT = 8000;
  const padding = 'x'.repeat(100);
  const expected = (value: number): string =>
    `# TYPE g gauge\n${Array.from({ length: COUNT }, (_, index) => `g{index="${index}",padding="${padding}"} ${value}.0\n`).join('')}`;

  /** An endpoint with a gauge of many series, which all change at once. */
  async function startLarge() {
    const series = Array.from({ length: COUNT }, (_, index) => Object.freeze({ index, padding }));
    const dataPoints = (value: number): DataPoint<number>[] =>
      series.map((attributes) => ({ attributes, startTime: [0, 0], endTime: [0, 0], value }));
    const state = { value: 1 };
    const producer: MetricProducer = {
      collect: async () => ({
        resourceMetrics: {
          resource: resourceFromAttributes({}),
          scopeMetrics: [
            { scope: { name: 'large' }, metrics: [{ ...GAUGE, dataPoints: dataPoints(state.value) }] },
          ],
        },
        errors: [],
      }),
    };
    return { state, endpoint: await startEndpoint({ metricProducers: [producer] }) };
  }

  it('arrives whole, also where the next one is written over it', async () => {
    const { state, endpoint } = await startLarge();
    for (state.value = 1; state.value <= 3; state.value += 1) {
      expect((await endpoint.text()) === expected(state.value)).toBe(true);
      expect((await endpoint.openMetrics()) === `${expected(state.value)}# EOF\n`).toBe(true);
    }
  });

  it('goes to every scrape of the same time, after one that was given up half-way', async () => {
    const { state, endpoint } = await startLarge();
    const controller = new AbortController();
    const { signal } = controller;
    const { body } = await fetch(endpoint.url, { signal });
    controller.abort();
    await expect(body!.getReader().read()).rejects.toThrow('aborted');
    state.value = 2;
    const texts = await Promise.all([endpoint.text(), endpoint.text(), endpoint.text()]);
    expect(texts.map((text) => text === expected(2))).toEqual([true, true, true]);
  });
});

describe('a scrape whose collection', () => {
  it('fails gets 503 with the reason, said once, and again after a success', async () => {
    const said = captureDiag();
    let failure: Error | undefined = new Error('the engine is gone');
    const { exporter, url } = await startEndpoint({
      metricProducers: [{ collect: () => (failure === undefined ? empty() : Promise.reject(failure)) }],
    });
    const answer = await scrape(url);
    expect(answer.status).toBe(503);
    expect(answer.headers['content-type']).toBe(PLAIN_TYPE);
    expect(answer.body.toString()).toBe('no metrics: the engine is gone\n');
    expect((await scrape(url, {}, 'HEAD')).status).toBe(503);
    const problem =
      'error: opentelemetry-instrumentation-vllm/prometheus: a collection failed and was answered with 503: the engine is gone';
    expect(said).toEqual([problem]);
    const reason = failure;
    failure = undefined;
    expect((await scrape(url)).status).toBe(200);
    failure = reason;
    expect((await scrape(url)).status).toBe(503);
    expect(said).toEqual([problem, problem]);
    expect(exporter.status()).toEqual({ collections: 1, failedCollections: 3, callbackErrors: 0 });
  });

  it('hangs gets 503 in time, and the next one is a new try', async () => {
    const hanging = new HangingProducer();
    const { url } = await startEndpoint({ metricProducers: [hanging] });
    const answer = await hanging.scrape(url, 10_000);
    expect(answer.status).toBe(503);
    expect(answer.body.toString()).toBe('no metrics: the collection took longer than 10000 ms\n');
    hanging.hangs = false;
    expect((await scrape(url)).status).toBe(200);
  });

  it.each([
    ['3', 2700],
    ['0.001', 1],
    ['60', 5000],
    ['-1', 5000],
    ['soon', 5000],
  ])(
    "hangs with Prometheus' own time limit of %s s and ours of 5 s gets 503 after %d ms",
    async (seconds, millis) => {
      const hanging = new HangingProducer();
      const { url } = await startEndpoint({ collectTimeoutMillis: 5000, metricProducers: [hanging] });
      const answer = await hanging.scrape(url, millis, { 'X-Prometheus-Scrape-Timeout-Seconds': seconds });
      expect(answer.body.toString()).toBe(`no metrics: the collection took longer than ${millis} ms\n`);
    },
  );

  it('has an observable callback that fails or hangs loses that one alone, said once', async () => {
    useFakeTimeouts();
    const said = captureDiag();
    const { exporter, provider, url } = await startEndpoint();
    const meter = provider.getMeter('app');
    const calls = new EventEmitter();
    meter.createObservableGauge('broken').addCallback(() => {
      throw new Error('no such sensor');
    });
    meter.createObservableGauge('stuck').addCallback(() => {
      calls.emit('call');
      return new Promise(() => {});
    });
    meter.createObservableGauge('fine').addCallback((result) => result.observe(1));
    for (let scrapes = 1; scrapes <= 2; scrapes += 1) {
      const called = once(calls, 'call');
      const answer = scrape(url);
      await called;
      await vi.advanceTimersByTimeAsync(9000);
      expect((await answer).body.toString()).toBe('# TYPE fine gauge\nfine 1.0\n');
    }
    expect(said).toEqual([
      'error: opentelemetry-instrumentation-vllm/prometheus: an observable callback or metric producer failed: no such sensor; its metrics are left out',
    ]);
    expect(exporter.status()).toEqual({ collections: 2, failedCollections: 0, callbackErrors: 4 });
  });

  it('has an observable callback that throws what has no text loses that one alone', async () => {
    const said = captureDiag();
    const { exporter, provider, url } = await startEndpoint();
    const meter = provider.getMeter('app');
    meter.createObservableGauge('broken').addCallback(() => {
      throw Object.create(null) as Error;
    });
    meter.createObservableGauge('fine').addCallback((result) => result.observe(1));
    expect((await scrape(url)).body.toString()).toBe('# TYPE fine gauge\nfine 1.0\n');
    expect(said).toEqual([
      'error: opentelemetry-instrumentation-vllm/prometheus: an observable callback or metric producer failed: object; its metrics are left out',
    ]);
    expect(exporter.status()).toEqual({ collections: 1, failedCollections: 0, callbackErrors: 1 });
  });

  it('cannot begin gets 503: before the MeterProvider is there, and after its shutdown', async () => {
    const exporter = new VllmPrometheusExporter({ preventServerStart: true });
    const url = await listen(createServer(exporter.getMetricsRequestHandler));
    expect((await scrape(url)).body.toString()).toBe(
      'no metrics: MetricReader is not bound to a MetricProducer\n',
    );
    const provider = new MeterProvider({ readers: [exporter] });
    expect((await scrape(url)).status).toBe(200);
    await provider.shutdown();
    expect((await scrape(url)).body.toString()).toBe('no metrics: MetricReader is shutdown\n');
  });

  it('is outlived by its client costs nothing', async () => {
    const arrived = deferred();
    const release = deferred();
    const { exporter, url } = await startEndpoint({
      metricProducers: [
        {
          collect: async () => {
            arrived.resolve();
            await release.promise;
            return empty();
          },
        },
      ],
    });
    const controller = new AbortController();
    const aborted = fetch(url, { signal: controller.signal });
    await arrived.promise;
    controller.abort();
    await expect(aborted).rejects.toThrow('aborted');
    release.resolve();
    expect((await scrape(url)).status).toBe(200);
    expect(exporter.status().failedCollections).toBe(0);
  });
});

describe('getMetricsRequestHandler', () => {
  it('leaves a response alone that something else has answered', async () => {
    const exporter = new VllmPrometheusExporter({ preventServerStart: true });
    const server = createServer((request, response) => {
      response.end('mine');
      exporter.getMetricsRequestHandler(request, response);
    });
    expect((await scrape(await listen(server))).body.toString()).toBe('mine');
  });

  it('is mounted in one line with node:http, Express and Fastify', async () => {
    const exporter = new VllmPrometheusExporter({ preventServerStart: true });
    const provider = new MeterProvider({ readers: [exporter], resource: resourceFromAttributes({}) });
    onTestFinished(() => provider.shutdown());
    provider.getMeter('app').createCounter('c').add(1);

    const node = await listen(createServer(exporter.getMetricsRequestHandler));

    const expressApp = express();
    expressApp.get('/metrics', exporter.getMetricsRequestHandler);
    const expressUrl = await listen(createServer(expressApp));

    const fastifyApp = fastify();
    fastifyApp.get('/metrics', (request, reply) => {
      reply.hijack();
      exporter.getMetricsRequestHandler(request.raw, reply.raw);
    });
    onTestFinished(() => fastifyApp.close());
    const fastifyUrl = await fastifyApp.listen({ port: 0 });

    for (const url of [`${node}/any/path`, `${expressUrl}/metrics`, `${fastifyUrl}/metrics`]) {
      const answer = await scrape(url, { accept: OPEN_METRICS_ACCEPT });
      expect(answer.headers['content-type']).toBe(OPEN_METRICS_TYPE);
      expect(answer.body.toString()).toBe('# TYPE c counter\nc_total 1.0\n# EOF\n');
    }
  });
});

/** Listens until the test ends; the address without a path. */
async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function deferred(): Deferred {
  const settlers: (() => void)[] = [];
  const promise = new Promise<void>((settle) => settlers.push(settle));
  return { promise, resolve: () => settlers.forEach((settle) => settle()) };
}

function useFakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** A metric producer that does not answer, on a clock that the test moves. */
class HangingProducer implements MetricProducer {
  hangs = true;
  readonly #calls = new EventEmitter();

  constructor() {
    useFakeTimeouts();
  }

  collect(): Promise<CollectionResult> {
    this.#calls.emit('call');
    return this.hangs ? new Promise(() => {}) : empty();
  }

  /** Scrapes, and lets a time pass while this hangs. */
  async scrape(url: string, millis: number, headers: OutgoingHttpHeaders = {}): Promise<Scraped> {
    const called = once(this.#calls, 'call');
    const answer = scrape(url, headers);
    await called;
    await vi.advanceTimersByTimeAsync(millis);
    return answer;
  }
}

const GAUGE = {
  descriptor: { name: 'g', description: '', unit: '', valueType: ValueType.DOUBLE },
  aggregationTemporality: AggregationTemporality.CUMULATIVE,
  dataPointType: DataPointType.GAUGE as const,
};

const empty: MetricProducer['collect'] = async () => ({
  resourceMetrics: { resource: resourceFromAttributes({}), scopeMetrics: [] },
  errors: [],
});

describe('a response that cannot be written to', () => {
  it('is dropped, and the service goes on', async () => {
    const { exporter, text } = await startEndpoint();
    const server = createServer((request, response) => {
      response.writeHead = () => {
        throw new Error('headers are taken');
      };
      exporter.getMetricsRequestHandler(request, response);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(scrape(`http://127.0.0.1:${port}/`)).rejects.toThrow('socket hang up');
    expect(await text()).toBe('');
  });
});
