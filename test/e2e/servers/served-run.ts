import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Traced } from '../../support/traced.ts';
import { scenarioOf } from '../simulated-run.ts';
import { MomentEndpoint } from './moment-endpoint.ts';
import { PrometheusServer } from './prometheus-server.ts';
import type { TimeRange } from './promql-client.ts';
import { SimulatedService } from './simulated-service.ts';
import { stampExposition } from './stamp-exposition.ts';
import type { ToldRequest } from './telling-run.ts';
import { VictoriaMetricsServer } from './victoria-metrics-server.ts';

/** What is run, and when the servers look. */
export interface ServedRunOptions {
  /** Options of the demo, for the scenario. */
  readonly scenario: readonly string[];
  /** Simulated seconds, whole and ascending; those below 0 are before the first request. */
  readonly moments: readonly number[];
}

/** A run that is over, and the two servers that have all of it, each in its own way. */
export interface ServedRun {
  /** Has scraped it, as job `vllm` and instance `frontend-1`. */
  readonly prometheus: PrometheusServer;
  /** Got it over OTLP in protobuf, and runs with `docs/victoria-metrics-relabel.yml`. */
  readonly victoriaMetrics: VictoriaMetricsServer;
  /** The simulator's own log, as it was told. */
  readonly records: readonly ToldRequest[];
  /** The spans of the requests. */
  readonly traced: Traced;
  /** What the last scrape was told. */
  readonly exposition: string;
  /** The Unix time, in seconds, of a simulated one. */
  unixTime(simulatedSeconds: number): number;
  /** The grid of a range query, from one in simulated seconds. */
  range(simulated: TimeRange): TimeRange;
}

const RELABEL = fileURLToPath(new URL('../../../docs/victoria-metrics-relabel.yml', import.meta.url));
const SCRAPE_INTERVAL_MILLIS = 50;

/**
 * Runs a simulation for the tests of a `describe`: one service, read by both servers at the same simulated moments.
 *
 * Numbers can only be held against each other to the last digit where both servers have the same samples at the same
 * times. Points of OTLP have a time of their own, that of the collection, so the service's clock is the simulation's. A
 * scrape has the time at which Prometheus asks, unless the exposition says otherwise; therefore what the service's own
 * endpoint answers to Prometheus' own request is handed on with that moment's time behind every sample. All else is as in
 * production: content negotiation, parsing, exemplars. Hours of history take seconds so.
 *
 * Three rules then give the same numbers from both query engines, though only Prometheus extrapolates:
 *
 * - Ask at moments, and let the window of `rate` and `increase` begin at one. Prometheus (before 3.0) counts a sample at
 *   the beginning of the window as part of it and has nothing to extrapolate; VictoriaMetrics takes it as the value before.
 * - `…_over_time` would count that sample in the one and not in the other: let no moment be at its window's beginning.
 * - The steps of a subquery are multiples of its step, whole minutes say: for the same reason, ask at none of them.
 */
export function useServedRun(options: ServedRunOptions): () => ServedRun {
  const running: (() => Promise<void> | void)[] = [];
  let run: ServedRun | undefined;
  let failed = false;
  beforeAll(async () => {
    run = await serve(options, (stop) => running.unshift(stop));
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      failed = true;
    });
  });
  afterAll(async () => {
    if (failed) console.error(`${run?.prometheus.log}\n${run?.victoriaMetrics.log}`);
    for (const stop of running) await stop();
  });
  return () => run!;
}

async function serve(
  { scenario: args, moments }: ServedRunOptions,
  onStop: (stop: () => Promise<void> | void) => void,
): Promise<ServedRun> {
  const victoriaMetrics = await VictoriaMetricsServer.start(`-relabelConfig=${RELABEL}`);
  onStop(() => victoriaMetrics.stop());

  const scenario = await scenarioOf(...args);
  // All of it is past, since VictoriaMetrics holds back what is newer than 30 seconds; a whole minute, so that round
  // moments are on round grids.
  const epoch = (Math.floor((Date.now() / 1000 - moments.at(-1)!) / 60) - 1) * 60;
  const service = new SimulatedService({
    scenario,
    epoch,
    serviceName: 'vllm',
    instanceId: 'frontend-1',
    otlpUrl: victoriaMetrics.otlpUrl,
  });
  onStop(() => service.stop());

  let prometheus: PrometheusServer | undefined;
  let told = 0;
  let exposition = '';
  const endpoint = await MomentEndpoint.listen({
    async next(headers) {
      const moment = moments[told];
      if (moment === undefined) return undefined;
      told += 1;
      const { contentType, body } = await service.readAt(moment, headers.accept ?? '');
      exposition = stampExposition(body, contentType, epoch + moment);
      return { contentType, body: exposition };
    },
    async arrived() {
      const time = epoch + moments[told - 1]!;
      const samples = (await prometheus?.query('timestamp(vllm:num_requests_running)', time)) ?? [];
      return samples.length > 0 && samples.every(({ value }) => value === time);
    },
  });
  onStop(() => endpoint.close());

  prometheus = await PrometheusServer.start({
    address: endpoint.address,
    intervalMillis: SCRAPE_INTERVAL_MILLIS,
    labels: { instance: 'frontend-1' },
  });
  onStop(() => prometheus.stop());
  await endpoint.over;
  await victoriaMetrics.flush();
  return {
    prometheus,
    victoriaMetrics,
    records: service.records,
    traced: service.traced,
    exposition,
    unixTime: (simulatedSeconds) => epoch + simulatedSeconds,
    range: ({ start, end, step }) => ({ start: epoch + start, end: epoch + end, step }),
  };
}
