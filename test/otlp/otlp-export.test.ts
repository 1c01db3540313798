import { MeterProvider, PeriodicExportingMetricReader, type IMetricReader } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VllmInstrumentation, vllmViews } from '../../src/index.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { histogramsOf, namesOf, type ArrivedHistogram } from './arrived-histograms.ts';
import { COMBINATIONS, exporterTo } from './exporters.ts';
import { startReceiver, type Arrival } from './receiver.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';
const BOUNDS = [1, 2, 3, 4, 5, 10, 20];

interface Service {
  readonly provider: MeterProvider;
  /** Starts a request, preempts it so often, and ends it. */
  serve(...preemptions: number[]): void;
}

function startService(readers: IMetricReader[]): Service {
  const provider = new MeterProvider({ readers, views: vllmViews() });
  onTestFinished(() => provider.shutdown());
  const vllm = new VllmInstrumentation({ modelName: 'test-model' });
  vllm.setMeterProvider(provider);
  const serve = (...preemptions: number[]): void => {
    for (const count of preemptions) {
      const request = vllm.engine(0).startRequest();
      for (let index = 0; index < count; index += 1) request.recordPreemption();
      request.end('stop');
    }
  };
  return { provider, serve };
}

function preemptionsOf(arrival: Arrival | undefined): ArrivedHistogram[] {
  return histogramsOf(arrival!).filter(({ name }) => name === PREEMPTIONS);
}

const row = (
  temporality: 'delta' | 'cumulative',
  count: number,
  sum: number,
  counts: readonly number[],
): ArrivedHistogram => ({
  name: PREEMPTIONS,
  temporality,
  attributes: { engine: '0', model_name: 'test-model' },
  count,
  sum,
  bounds: BOUNDS,
  counts,
});

describe.each(COMBINATIONS)('$protocol, $temporality', (combination) => {
  const { protocol, temporality } = combination;
  const contentType = protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';

  it('carries the histogram under its name with its bounds, counts and sum, export after export', async () => {
    const receiver = await startReceiver();
    const exporter = exporterTo(receiver.url, combination);
    const { provider, serve } = startService([new PeriodicExportingMetricReader({ exporter })]);

    serve(0, 0, 2, 25);
    await provider.forceFlush();
    serve(1, 7);
    await provider.forceFlush();

    expect(receiver.arrivals.map((arrival) => [arrival.path, arrival.contentType])).toEqual([
      ['/v1/metrics', contentType],
      ['/v1/metrics', contentType],
    ]);
    expect(preemptionsOf(receiver.arrivals[0])).toEqual([row(temporality, 4, 27, [2, 1, 0, 0, 0, 0, 0, 1])]);
    expect(preemptionsOf(receiver.arrivals[1])).toEqual([
      temporality === 'delta'
        ? row('delta', 2, 8, [1, 0, 0, 0, 0, 1, 0, 0])
        : row('cumulative', 6, 35, [3, 1, 0, 0, 0, 1, 0, 1]),
    ]);
  });

  it('carries the numbers that a scrape of the same provider shows', async () => {
    const receiver = await startReceiver();
    const exporter = exporterTo(receiver.url, combination);
    const prometheus = new VllmPrometheusExporter({ host: '127.0.0.1', port: 0 });
    await prometheus.startServer();
    const { provider, serve } = startService([new PeriodicExportingMetricReader({ exporter }), prometheus]);

    serve(0, 3, 3, 11);
    await provider.forceFlush();
    expect(await scrapePreemptions(prometheus.url!)).toEqual([1, 1, 3, 3, 3, 3, 4, 4, 17, 4]);
    serve(6);
    await provider.forceFlush();
    expect(await scrapePreemptions(prometheus.url!)).toEqual([1, 1, 3, 3, 3, 4, 5, 5, 23, 5]);

    const first = row(temporality, 4, 17, [1, 0, 2, 0, 0, 0, 1, 0]);
    expect(preemptionsOf(receiver.arrivals[0])).toEqual([first]);
    expect(preemptionsOf(receiver.arrivals[1])).toEqual([
      temporality === 'delta'
        ? row('delta', 1, 6, [0, 0, 0, 0, 0, 1, 0, 0])
        : row('cumulative', 5, 23, [1, 0, 2, 0, 0, 1, 1, 0]),
    ]);
  });
});

describe('every metric of the instrumentation', () => {
  it('arrives under a name of vLLM', async () => {
    const receiver = await startReceiver();
    const exporter = exporterTo(receiver.url);
    const { provider, serve } = startService([new PeriodicExportingMetricReader({ exporter })]);
    serve(1);
    await provider.forceFlush();
    const names = namesOf(receiver.arrivals[0]!);
    expect(names).toContain(PREEMPTIONS);
    expect(names.filter((name) => !name.startsWith('vllm:'))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});

/** The cumulative buckets, the sum and the count, in the order of the exposition. */
async function scrapePreemptions(url: string): Promise<number[]> {
  const exposition = await (await fetch(url)).text();
  const lines = exposition.split('\n').filter((line) => line.startsWith(`${PREEMPTIONS}_`));
  return lines.map((line) => Number(line.slice(line.lastIndexOf(' '))));
}
