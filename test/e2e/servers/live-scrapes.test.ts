import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Frontend } from '../../../examples/demo/frontend.ts';
import type { Scenario } from '../../../examples/demo/scenario.ts';
import { VllmInstrumentation, vllmViews } from '../../../src/index.ts';
import { VllmPrometheusExporter } from '../../../src/prometheus/index.ts';
import { interpolatedQuantile } from './interpolated-quantile.ts';
import { PrometheusServer } from './prometheus-server.ts';
import { scrapedUntil } from './scraped-until.ts';
import { scenarioOf } from '../simulated-run.ts';

describe('a Prometheus server that scrapes a simulated run', () => {
  let scenario: Scenario;
  let vllm: VllmInstrumentation;
  let http: Server;
  let provider: MeterProvider;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    scenario = await scenarioOf('--seed', '7', '--kv-blocks', '700');
    const exporter = new VllmPrometheusExporter({ preventServerStart: true });
    provider = new MeterProvider({ readers: [exporter], views: vllmViews({ maxModelLen: 4096 }) });
    vllm = new VllmInstrumentation({ modelName: 'simulated', maxModelLen: 4096 });
    vllm.setMeterProvider(provider);
    http = createServer(exporter.getMetricsRequestHandler).listen(0, '127.0.0.1');
    await once(http, 'listening');
    prometheus = await PrometheusServer.start({
      address: `127.0.0.1:${(http.address() as AddressInfo).port}`,
      intervalMillis: 200,
    });
  });

  afterAll(async () => {
    await prometheus?.stop();
    http?.closeAllConnections();
    http?.close();
    await provider?.shutdown();
  });

  it('answers quantiles, shares and totals as computed from the simulator’s own log', async () => {
    await runWhileScraped(scenario, vllm, http);
    const preemptions = scenario.simulation.log.records.map(({ reported }) => reported.preemptions);
    expect(Math.max(...preemptions)).toBeGreaterThan(3);

    await scrapedUntil(http, async () => {
      const [count] = await prometheus.query('sum(vllm:request_num_preemptions_count)');
      return count?.value === preemptions.length;
    });

    const quantile = async (q: number): Promise<number | undefined> => {
      const byBucket = 'sum by (le) (vllm:request_num_preemptions_bucket)';
      return (await prometheus.query(`histogram_quantile(${q}, ${byBucket})`))[0]?.value;
    };
    for (const q of [0.5, 0.9, 0.95, 0.99, 1]) {
      expect(await quantile(q)).toBeCloseTo(
        interpolatedQuantile(q, preemptions, [1, 2, 3, 4, 5, 10, 20]),
        10,
      );
    }
    const [sum] = await prometheus.query('sum(vllm:request_num_preemptions_sum)');
    expect(sum?.value).toBe(preemptions.reduce((total, count) => total + count, 0));
    const [above] = await prometheus.query(
      'sum(vllm:request_num_preemptions_count) - sum(vllm:request_num_preemptions_bucket{le="3.0"})',
    );
    expect(above?.value).toBe(preemptions.filter((count) => count > 3).length);
    const byReason = await prometheus.query('sum by (finished_reason) (vllm:request_success_total)');
    const ended = (reason: string | undefined): number =>
      scenario.simulation.log.records.filter(({ finishReason }) => finishReason === reason).length;
    expect(byReason).toEqual(
      byReason.map((sample) => ({ ...sample, value: ended(sample.labels['finished_reason']) })),
    );
    expect(byReason).toHaveLength(5);
  });

  it('knows the metric as a histogram with its help', async () => {
    const [metadata] = await prometheus.metadata('vllm:request_num_preemptions');
    expect(metadata?.type).toBe('histogram');
    expect(metadata?.help).toMatch(/^How often each ended request was preempted\./);
  });
});

/** Runs the simulation in ten parts, each waiting for a scrape, so that Prometheus sees it under way. */
async function runWhileScraped(scenario: Scenario, vllm: VllmInstrumentation, http: Server): Promise<void> {
  const frontend = new Frontend(vllm, 1_700_000_000);
  const events = [...scenario.simulation];
  const part = Math.ceil(events.length / 10);
  for (let start = 0; start < events.length; start += part) {
    for (const event of events.slice(start, start + part)) frontend.handle(event);
    await once(http, 'request');
  }
}
