import { context, createContextKey } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { VllmPrometheusExporter, type VllmPrometheusExporterOptions } from '../../src/prometheus/index.ts';
import { scrape } from './scrape.ts';

/** A reader that exports whenever the test says so. */
class PushReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** An exporter without server beside another reader of the same View. */
function setUp(options: VllmPrometheusExporterOptions = {}): {
  exporter: VllmPrometheusExporter;
  provider: MeterProvider;
  push: PushReader;
} {
  const exporter = new VllmPrometheusExporter({
    preventServerStart: true,
    host: '127.0.0.1',
    port: 0,
    ...options,
  });
  const push = new PushReader();
  const provider = new MeterProvider({
    readers: [exporter, push],
    views: [{ instrumentName: 'vllm.x', name: 'vllm:x' }],
  });
  onTestFinished(() => provider.shutdown());
  return { exporter, provider, push };
}

/** How many attribute sets are kept: the SDK holds one for every export that a reader has not collected. */
async function keptAfterExports(options: VllmPrometheusExporterOptions): Promise<number> {
  const { provider, push } = setUp(options);
  const counter = provider.getMeter('app').createCounter('vllm.x');
  const kept: WeakRef<object>[] = [];
  for (let cycle = 0; cycle < 50; cycle += 1) {
    const attributes = { engine: '0' };
    kept.push(new WeakRef(attributes));
    counter.add(1, attributes);
    await push.collect();
  }
  await vi.advanceTimersByTimeAsync(60_000);
  await new Promise(setImmediate);
  globalThis.gc!();
  return kept.filter((reference) => reference.deref() !== undefined).length;
}

describe('an exporter that nobody scrapes', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('does not let the SDK keep what another reader has exported', async () => {
    expect(await keptAfterExports({ idleCollectMillis: 0 })).toBe(50);
    expect(await keptAfterExports({})).toBeLessThanOrEqual(2);
  });

  it('collects every minute, and loses nothing by it', async () => {
    const { exporter, provider } = setUp();
    const counter = provider.getMeter('app').createCounter('vllm.x');
    counter.add(3);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(exporter.status().collections).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(exporter.status().collections).toBe(1);
    counter.add(4);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(exporter.status().collections).toBe(2);
    await exporter.startServer();
    expect((await scrape(exporter.url!)).body.toString()).toContain('\nvllm:x_total 7.0\n');
  });

  it('waits anew after each scrape', async () => {
    const { exporter } = setUp({ idleCollectMillis: 5000 });
    await exporter.startServer();
    for (let scrapes = 1; scrapes <= 3; scrapes += 1) {
      await vi.advanceTimersByTimeAsync(4999);
      await scrape(exporter.url!);
      expect(exporter.status().collections).toBe(scrapes);
    }
    await vi.advanceTimersByTimeAsync(5000);
    expect(exporter.status().collections).toBe(4);
  });

  it('goes on after a collection that hangs', async () => {
    const hanging = { collect: () => new Promise<never>(() => {}) };
    const { exporter } = setUp({ metricProducers: [hanging] });
    await vi.advanceTimersByTimeAsync(180_000 + 10_000);
    expect(exporter.status().failedCollections).toBe(3);
  });

  it('never collects by itself with 0, nor after shutdown', async () => {
    const { exporter } = setUp({ idleCollectMillis: 0 });
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(exporter.status().collections).toBe(0);
    const { exporter: other, provider } = setUp();
    await provider.shutdown();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(other.status()).toEqual({ collections: 0, failedCollections: 0, callbackErrors: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the idle timer', () => {
  // Fake timers do not carry the async context.
  it('collects in the root context, whatever the context of its start', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    onTestFinished(() => context.disable());
    const key = createContextKey('request');
    const { provider } = context.with(context.active().setValue(key, 'secret'), () =>
      setUp({ idleCollectMillis: 1 }),
    );
    const seen = new Promise((resolve) => {
      provider
        .getMeter('app')
        .createObservableGauge('g')
        .addCallback(() => resolve(context.active().getValue(key)));
    });
    expect(await seen).toBeUndefined();
  });
});
