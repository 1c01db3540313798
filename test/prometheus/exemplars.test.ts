import type { MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import { AggregationType, MeterProvider } from '@opentelemetry/sdk-metrics';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { vllmViews, type VllmInstrumentation } from '../../src/index.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { startService } from '../support/service.ts';
import { OPEN_METRICS_ACCEPT, scrape } from './scrape.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const SECONDS = '1767323045.678';

type ProviderKind = 'BoundMeterProvider' | 'the SDK';

/** Records through a provider of a kind, behind an endpoint. Boundaries of a View come first, where there are any. */
async function expose(vllm: VllmInstrumentation, kind: ProviderKind, boundaries?: number[]) {
  const own = boundaries === undefined ? [] : [viewOf(boundaries)];
  const views = [...vllmViews().filter(({ name }) => !own.some((view) => view.name === name)), ...own];
  const bound = new BoundMeterProvider({ views });
  const exporter = new VllmPrometheusExporter({
    host: '127.0.0.1',
    port: 0,
    ...(kind === 'BoundMeterProvider' ? { metricProducers: [bound.producer()] } : {}),
  });
  const sdk = new MeterProvider({ readers: [exporter], views });
  onTestFinished(() => sdk.shutdown());
  await exporter.startServer();
  const provider: ApiMeterProvider = kind === 'BoundMeterProvider' ? bound : sdk;
  vllm.setMeterProvider(provider);
  /** The lines of the preemption buckets. */
  return async (accept: string): Promise<string[]> => {
    const { body } = await scrape(exporter.url!, { accept });
    return body.toString().match(/^vllm:request_num_preemptions_bucket.*$/gm) ?? [];
  };
}

function viewOf(boundaries: number[]) {
  return {
    instrumentName: 'vllm.request_num_preemptions',
    name: 'vllm:request_num_preemptions',
    aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries } },
  } as const;
}

function preemptedRequest(
  engine: ReturnType<VllmInstrumentation['engine']>,
  id: string,
  times: number,
): void {
  const request = engine.startRequest({ requestId: id, promptTokens: 4 });
  for (let made = 0; made < times; made += 1) request.recordPreemption();
  request.end('stop');
}

describe.each<ProviderKind>(['BoundMeterProvider', 'the SDK'])('exemplars with %s', (kind) => {
  it('stand in OpenMetrics behind the bucket of the request, and open its trace', async () => {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { vllm, traced } = startService({ modelName: `exemplars: ${kind}` });
    const lines = await expose(vllm, kind);
    const engine = vllm.engine(3);
    preemptedRequest(engine, 'first', 2);
    preemptedRequest(engine, 'second', 10);
    preemptedRequest(engine, 'third', 2);
    const [, second, third] = traced.spans.map((span) => span.spanContext());
    const ids = (span: typeof second) => `{trace_id="${span!.traceId}",span_id="${span!.spanId}"}`;
    const bucket = (le: string) => expect.stringContaining(`le="${le}"`) as string;
    expect((await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes('engine="3"'))).toEqual([
      bucket('1.0'),
      expect.stringMatching(new RegExp(`le="2.0"} 2.0 # ${ids(third)} 2.0 ${SECONDS}$`)),
      bucket('3.0'),
      bucket('4.0'),
      bucket('5.0'),
      expect.stringMatching(new RegExp(`le="10.0"} 3.0 # ${ids(second)} 10.0 ${SECONDS}$`)),
      bucket('20.0'),
      bucket('+Inf'),
    ]);
    expect((await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes(' # '))).toHaveLength(2);
  });

  it('are in no other format', async () => {
    const { vllm } = startService({ modelName: `text: ${kind}` });
    const lines = await expose(vllm, kind);
    preemptedRequest(vllm.engine(3), 'one', 2);
    expect((await lines('text/plain')).filter((line) => line.includes('#'))).toEqual([]);
    expect((await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes('#'))).toHaveLength(1);
  });

  it('are none of requests that are not sampled, and none where the option says so', async () => {
    const unsampled = startService({ modelName: `unsampled: ${kind}` }, { sampler: new AlwaysOffSampler() });
    const off = startService({ modelName: `off: ${kind}`, exemplars: false });
    for (const { vllm } of [unsampled, off]) {
      const lines = await expose(vllm, kind);
      preemptedRequest(vllm.engine(3), 'one', 2);
      const inOpenMetrics = await lines(OPEN_METRICS_ACCEPT);
      expect(inOpenMetrics.filter((line) => line.includes('#'))).toEqual([]);
      expect(inOpenMetrics.find((line) => line.includes('engine="3"') && line.includes('le="2.0"'))).toMatch(
        / 1\.0$/,
      );
    }
  });

  it('stand behind the bucket that they fall in where a View has other boundaries', async () => {
    const { vllm } = startService({ modelName: `views: ${kind}` });
    const lines = await expose(vllm, kind, [4, 9]);
    for (const times of [0, 2, 6, 11]) preemptedRequest(vllm.engine(3), `n ${times}`, times);
    const withExemplar = (await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes('engine="3"'));
    expect(
      withExemplar.map((line) =>
        line.replace(/^.*le="([^"]+)"\} (\S+)(?: # \{[^}]*\} (\S+) \S+)?$/, '$1: $2, $3'),
      ),
    ).toEqual(['4.0: 2.0, 2.0', '9.0: 3.0, 6.0', '+Inf: 4.0, 11.0']);
  });

  it('are gone with the engine', async () => {
    const { vllm } = startService({ modelName: `removed: ${kind}` });
    const lines = await expose(vllm, kind);
    preemptedRequest(vllm.engine(3), 'one', 2);
    vllm.removeEngine(3);
    vllm.engine(3);
    expect((await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes('#'))).toEqual([]);
  });
});

describe('exemplars of a series that two providers of the SDK have', () => {
  it('are none in a bucket of the one that has nothing in it', async () => {
    const { vllm } = startService({ modelName: 'two providers' });
    const other = startService({ modelName: 'two providers' }).vllm;
    const lines = await expose(vllm, 'the SDK', [1, 2]);
    await expose(other, 'the SDK', [1, 2]);
    preemptedRequest(vllm.engine(3), 'one', 1);
    for (const times of [2, 3]) preemptedRequest(other.engine(3), `n ${times}`, times);
    const ofEngine = (await lines(OPEN_METRICS_ACCEPT)).filter((line) => line.includes('engine="3"'));
    expect(ofEngine.map((line) => line.replace(/^.*le="([^"]+)"\} (\S+)/, '$1: $2'))).toEqual([
      expect.stringMatching(/^1\.0: 1\.0 # \{.*\} 1\.0 /),
      '2.0: 1.0',
      '+Inf: 1.0',
    ]);
  });
});
