import { context, createContextKey } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { EventEmitter, once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VllmPrometheusExporter, type VllmPrometheusExporterOptions } from '../../src/prometheus/index.ts';
import { captureDiag } from './captured-diag.ts';
import { startEndpoint } from './endpoint.ts';
import { keepAlive, scrape } from './scrape.ts';

function newExporter(options: VllmPrometheusExporterOptions = {}): VllmPrometheusExporter {
  const exporter = new VllmPrometheusExporter({ host: '127.0.0.1', port: 0, ...options });
  onTestFinished(() => exporter.shutdown());
  return exporter;
}

function breakAtError(): void {
  throw new Error('broken');
}

describe('the own server', () => {
  it('picks a free port for port 0 and tells it', async () => {
    const one = newExporter();
    const two = newExporter();
    expect(one.port).toBeUndefined();
    expect(one.url).toBeUndefined();
    await Promise.all([one.startServer(), two.startServer()]);
    expect(one.port).toBeGreaterThan(0);
    expect(two.port).not.toBe(one.port);
    expect(one.url).toBe(`http://127.0.0.1:${one.port}/metrics`);
  });

  it('writes an IPv6 address as a URL wants it', async () => {
    const exporter = newExporter({ host: '::1' });
    await exporter.startServer();
    expect(exporter.url).toBe(`http://[::1]:${exporter.port}/metrics`);
    expect((await scrape(exporter.url!)).status).toBe(503);
  });

  it('does not start where that is prevented, until it is asked to', async () => {
    const exporter = newExporter({ preventServerStart: true });
    await new Promise(setImmediate);
    expect(exporter.port).toBeUndefined();
    await exporter.startServer();
    const { port } = exporter;
    expect(port).toBeGreaterThan(0);
    await exporter.startServer();
    expect(exporter.port).toBe(port);
  });

  it('hands a taken port to onError, and to whoever asks for the start', async () => {
    const { exporter: first } = await startEndpoint();
    const errors: Error[] = [];
    const second = newExporter({ port: first.port, onError: (error) => errors.push(error) });
    await expect(second.startServer()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(errors).toMatchObject([{ code: 'EADDRINUSE' }]);
    expect(second.port).toBeUndefined();
    await first.stopServer();
    await second.startServer();
    expect((await scrape(second.url!)).status).toBe(503);
    expect(errors).toHaveLength(1);
  });

  it('says a taken port through diag where there is no onError, or where that throws', async () => {
    const said = captureDiag();
    const { exporter: first } = await startEndpoint();
    const { port } = first;
    await expect(newExporter({ port }).startServer()).rejects.toThrow('EADDRINUSE');
    expect(said).toEqual([
      `error: opentelemetry-instrumentation-vllm/prometheus: the server on 127.0.0.1:${port} failed: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    ]);
    await expect(newExporter({ port, onError: breakAtError }).startServer()).rejects.toThrow('EADDRINUSE');
    expect(said[1]).toBe('error: opentelemetry-instrumentation-vllm/prometheus: onError threw: broken');
  });

  it('closes at shutdown, connections that are kept alive included, and can be started again after a stop', async () => {
    const { exporter, provider, url } = await startEndpoint();
    const connection = await keepAlive(url);
    const closed = once(connection, 'close');
    await exporter.stopServer();
    await closed;
    expect(exporter.url).toBeUndefined();
    await expect(scrape(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await exporter.startServer();
    const again = exporter.url!;
    expect((await scrape(again)).status).toBe(200);
    await provider.shutdown();
    await expect(scrape(again)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('breaks off a scrape that is under way when it stops', async () => {
    const asked = new EventEmitter();
    const { exporter, url } = await startEndpoint({
      metricProducers: [
        {
          collect: () => {
            asked.emit('collect');
            return new Promise(() => {});
          },
        },
      ],
    });
    const collecting = once(asked, 'collect');
    const outcome = scrape(url).catch((error: unknown) => error);
    await collecting;
    await Promise.all([exporter.stopServer(), exporter.startServer()]);
    expect(await outcome).toMatchObject({ code: 'ECONNRESET' });
    expect(exporter.port).toBeGreaterThan(0);
  });

  it('can be stopped while it starts, and started while it stops', async () => {
    const exporter = newExporter();
    await exporter.stopServer();
    expect(exporter.port).toBeUndefined();
    await exporter.startServer();
    const stopped = exporter.stopServer();
    await exporter.startServer();
    await stopped;
    expect((await scrape(exporter.url!)).status).toBe(503);
  });

  it('serves scrapes in the root context, whatever the context of its start', async () => {
    const manager = new AsyncLocalStorageContextManager().enable();
    context.setGlobalContextManager(manager);
    onTestFinished(() => context.disable());
    const key = createContextKey('request');
    const { exporter, provider, url } = await context.with(context.active().setValue(key, 'secret'), () =>
      startEndpoint(),
    );
    const seen: unknown[] = [];
    provider
      .getMeter('app')
      .createObservableGauge('g')
      .addCallback(() => {
        seen.push(context.active().getValue(key));
      });
    await scrape(url);
    expect(seen).toEqual([undefined]);
    expect(exporter.status().collections).toBe(1);
  });
});
