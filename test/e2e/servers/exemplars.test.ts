import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BoundMeterProvider } from '../../../src/bound-meter/index.ts';
import { VllmInstrumentation, vllmViews } from '../../../src/index.ts';
import { VllmPrometheusExporter } from '../../../src/prometheus/index.ts';
import { message, output, preempted, queued, scheduled } from '../../support/messages.ts';
import { Traced } from '../../support/traced.ts';
import { PrometheusServer } from './prometheus-server.ts';
import { scrapedUntil } from './scraped-until.ts';

const BUCKETS = 'vllm:request_num_preemptions_bucket';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0';

/** The requests, in the order in which they end, each with a trace of its own that its client has begun. */
const REQUESTS = [
  { id: 'thrashed before', preemptions: 9, sampled: true },
  { id: 'thrashed', preemptions: 10, sampled: true },
  { id: 'thrashed unseen', preemptions: 8, sampled: false },
  { id: 'thrashed most, unseen', preemptions: 12, sampled: false },
  { id: 'went well', preemptions: 0, sampled: true },
].map((request, position) => ({ ...request, traceId: `${position + 1}`.padStart(32, '0') }));
const [, THRASHED, , , WENT_WELL] = REQUESTS;

interface Exported {
  readonly meterProvider: ApiMeterProvider;
  readonly exporter: VllmPrometheusExporter;
  stop(): Promise<void>;
}

describe.each<[string, () => Exported]>([
  ['a BoundMeterProvider', exportBound],
  ['the SDK’s own MeterProvider', exportPlain],
])('exemplars of requests whose metrics are kept by %s', (_, start) => {
  const traced = new Traced();
  /** When the requests end: some whole second that Prometheus takes for the present. */
  const endedAt = Math.floor(Date.now() / 1000) - 10;
  let exported: Exported;
  let http: Server;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    exported = start();
    const vllm = new VllmInstrumentation({ modelName: 'm' });
    vllm.setMeterProvider(exported.meterProvider);
    vllm.setTracerProvider(traced.provider);
    vi.useFakeTimers({ toFake: ['Date'], now: endedAt * 1000 });
    try {
      for (const request of REQUESTS) serve(vllm, request);
    } finally {
      vi.useRealTimers();
    }
    http = createServer(exported.exporter.getMetricsRequestHandler).listen(0, '127.0.0.1');
    await once(http, 'listening');
    prometheus = await PrometheusServer.start({ address: addressOf(http), intervalMillis: 200 });
    await scrapedUntil(http, async () => (await prometheus.query(BUCKETS)).length > 0);
  });

  afterAll(async () => {
    await prometheus?.stop();
    http?.closeAllConnections();
    http?.close();
    await exported?.stop();
  });

  it('are written behind the buckets of OpenMetrics, for the last sampled request of each bucket', async () => {
    const text = await scrape(OPEN_METRICS);
    const lines = text.split('\n').filter((line) => line.startsWith(BUCKETS) && line.includes(' # '));
    const spanOf = (traceId: string): string => spansOf(traceId)[0]!.spanContext().spanId;
    expect(lines).toEqual(
      [
        ['1.0', '1.0', WENT_WELL!.traceId, '0.0'] as const,
        ['10.0', '4.0', THRASHED!.traceId, '10.0'] as const,
      ].map(
        ([le, count, traceId, value]) =>
          `${BUCKETS}{engine="0",model_name="m",le="${le}"} ${count} # {trace_id="${traceId}",span_id="${spanOf(traceId)}"} ${value} ${endedAt}.000`,
      ),
    );
  });

  it('are not in the text format, which has none', async () => {
    expect(await scrape('text/plain; version=0.0.4')).not.toContain('trace_id');
  });

  it('lead from Prometheus to the trace of exactly the request that was preempted ten times', async () => {
    const window = { start: endedAt - 1, end: endedAt + 1 };
    const series = await prometheus.queryExemplars(`${BUCKETS}{le="10.0"}`, window);
    const exemplars = series.flatMap((one) => one.exemplars);
    expect(exemplars).toEqual([
      {
        labels: { trace_id: THRASHED!.traceId, span_id: expect.any(String) as string },
        value: 10,
        timestamp: endedAt,
      },
    ]);
    const [span, ...others] = spansOf(exemplars[0]!.labels['trace_id']!);
    expect(others).toEqual([]);
    expect(span!.spanContext().spanId).toBe(exemplars[0]!.labels['span_id']);
    const preemptions = span!.events.filter(({ name }) => name === 'vllm.request.preempted');
    expect(preemptions.map(({ attributes }) => attributes!['vllm.request.num_preemptions'])).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
  });

  it('are of sampled requests alone, in whatever metric', async () => {
    const everything = { start: endedAt - 3600, end: endedAt + 3600 };
    const series = await prometheus.queryExemplars('{__name__=~".+"}', everything);
    const traceIds = series.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels['trace_id']));
    expect(new Set(series.map(({ labels }) => labels['__name__'])).size).toBeGreaterThan(5);
    const sampled = new Set(REQUESTS.filter((request) => request.sampled).map(({ traceId }) => traceId));
    expect(traceIds.filter((traceId) => !sampled.has(traceId!))).toEqual([]);
  });

  const spansOf = (traceId: string): readonly ReadableSpan[] =>
    traced.spans.filter((span) => span.spanContext().traceId === traceId);

  async function scrape(accept: string): Promise<string> {
    return (await fetch(`http://${addressOf(http)}/metrics`, { headers: { accept } })).text();
  }
});

function exportBound(): Exported {
  const bound = new BoundMeterProvider({ views: vllmViews() });
  const exporter = new VllmPrometheusExporter({
    preventServerStart: true,
    metricProducers: [bound.producer()],
  });
  const provider = new MeterProvider({ readers: [exporter] });
  return { meterProvider: bound, exporter, stop: () => provider.shutdown() };
}

function exportPlain(): Exported {
  const exporter = new VllmPrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter], views: vllmViews() });
  return { meterProvider: provider, exporter, stop: () => provider.shutdown() };
}

/** A request that the engine puts off again and again before its first token, as its only output tells. */
function serve(
  vllm: VllmInstrumentation,
  { id, preemptions, sampled, traceId }: (typeof REQUESTS)[number],
): void {
  const traceparent = `00-${traceId}-00000000000000aa-0${sampled ? 1 : 0}`;
  vllm.engine(0).startRequest({ requestId: id, traceHeaders: { traceparent } });
  const pauses = Array.from({ length: preemptions }, (_, count) => [
    preempted(2 * count + 3),
    scheduled(2 * count + 4),
  ]);
  const events = [queued(1), scheduled(2), ...pauses.flat()];
  vllm.observe(message(100, output(id, 1, { events, finish_reason: 0 })));
}

function addressOf(http: Server): string {
  return `127.0.0.1:${(http.address() as AddressInfo).port}`;
}
