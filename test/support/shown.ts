import type { Attributes } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type IMetricReader,
} from '@opentelemetry/sdk-metrics';
import { onTestFinished } from 'vitest';
import type { VllmInstrumentation } from '../../src/instrumentation.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { ConfirmingMetricReader } from '../../src/otlp/index.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { scrape } from '../prometheus/scrape.ts';
import { Reading } from './reading.ts';
import { TestReader } from './test-reader.ts';

const { CUMULATIVE, DELTA } = AggregationTemporality;

/** A reader of this package, or one as the SDK has it. */
export type ReaderKind =
  | 'VllmPrometheusExporter'
  | 'ConfirmingMetricReader, cumulative'
  | 'ConfirmingMetricReader, delta'
  | 'the SDK, cumulative'
  | 'the SDK, delta';

/** The readers that this package answers for. */
export const OWN_READERS: readonly ReaderKind[] = [
  'VllmPrometheusExporter',
  'ConfirmingMetricReader, cumulative',
  'ConfirmingMetricReader, delta',
];

/** What one collection of a reader showed. */
export interface Shown {
  /** The series of a metric: labels, and the value of a counter or gauge, the count of a histogram. */
  series(name: string): readonly (readonly [Attributes, number])[];
}

/**
 * Connects an instrumentation to a provider with such a reader, until the test ends.
 *
 * @returns What collects through it.
 */
export async function showThrough(
  vllm: VllmInstrumentation,
  kind: ReaderKind,
): Promise<() => Promise<Shown>> {
  const { reader, show } = await START[kind]();
  const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
  onTestFinished(() => provider.shutdown());
  vllm.setMeterProvider(provider);
  return show;
}

interface StartedReader {
  readonly reader: IMetricReader;
  readonly show: () => Promise<Shown>;
}

async function startScraped(): Promise<StartedReader> {
  const exporter = new VllmPrometheusExporter({ host: '127.0.0.1', port: 0 });
  await exporter.startServer();
  const show = async (): Promise<Shown> => {
    const lines = (await scrape(exporter.url!)).body.toString().split('\n');
    return { series: (name) => lines.flatMap((line) => sampleOf(line, name)) };
  };
  return { reader: exporter, show };
}

/** The sample of a line, where it is one of the metric: of a histogram, its count. */
function sampleOf(line: string, name: string): [Attributes, number][] {
  const [, family, suffix, labels = '', value] = /^([\w:]+?)(_total|_count)?\{(.*)\} (\S+)$/.exec(line) ?? [];
  if (family !== name && `${family}${suffix}` !== name) return [];
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return [[Object.fromEntries(pairs.map(([, label, text]) => [label, text])) as Attributes, Number(value)]];
}

function startConfirming(temporality: AggregationTemporality): StartedReader {
  const exporter = new InMemoryMetricExporter(temporality);
  const reader = new ConfirmingMetricReader({ exporter });
  const show = async (): Promise<Shown> => {
    exporter.reset();
    await reader.flush();
    const [exported] = exporter.getMetrics();
    // A reader that collected nothing exports nothing.
    return exported === undefined ? { series: () => [] } : shownIn(new Reading(exported));
  };
  return { reader, show };
}

function startOfSdk(temporality: AggregationTemporality): StartedReader {
  const reader = new TestReader(temporality);
  return { reader, show: async () => shownIn(await reader.read()) };
}

function shownIn(reading: Reading): Shown {
  const series: Shown['series'] = (name) => {
    if (!reading.names.includes(name)) return [];
    return reading
      .points(name)
      .map(({ attributes, value }) => [attributes, typeof value === 'number' ? value : value.count] as const);
  };
  return { series };
}

const START: Readonly<Record<ReaderKind, () => Promise<StartedReader>>> = {
  VllmPrometheusExporter: startScraped,
  'ConfirmingMetricReader, cumulative': async () => startConfirming(CUMULATIVE),
  'ConfirmingMetricReader, delta': async () => startConfirming(DELTA),
  'the SDK, cumulative': async () => startOfSdk(CUMULATIVE),
  'the SDK, delta': async () => startOfSdk(DELTA),
};
