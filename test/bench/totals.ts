import type { Histogram, MetricReader } from '@opentelemetry/sdk-metrics';
import type { Metric as PromMetric } from 'prom-client';

/** What all series of one metric hold together. */
export interface Totals {
  /** The value of a counter or gauge, the samples of a histogram. */
  readonly count: number;
  /** The sum of a histogram's samples; 0 for others. */
  readonly sum: number;
  /** A check of the samples' buckets: their positions, from 0, added up; 0 for others. */
  readonly positions: number;
}

/** By vLLM's name, colon included. */
export type TotalsByName = ReadonlyMap<string, Totals>;

/** Reads back what was recorded through a provider of OpenTelemetry's. */
export async function collectTotals(reader: MetricReader): Promise<TotalsByName> {
  const { resourceMetrics, errors } = await reader.collect();
  if (errors.length > 0) throw new AggregateError(errors, 'the collection failed');
  const totals = new Map<string, Totals>();
  for (const { descriptor, dataPoints } of resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)) {
    // Nothing here makes exponential histograms.
    const values = dataPoints.map(({ value }) => value as number | Histogram);
    totals.set(vllmName(descriptor.name), values.map(totalsOf).reduce(added, NOTHING));
  }
  return totals;
}

/** Reads back what was recorded into metrics of prom-client, by their names. */
export async function promTotals(metrics: Iterable<PromMetric>): Promise<TotalsByName> {
  const totals = new Map<string, Totals>();
  for (const metric of metrics) {
    const { name, values } = await metric.get();
    const sumOf = (suffix: string): number =>
      (values as readonly PromValue[])
        .filter(({ metricName = name }) => metricName === `${name}${suffix}`)
        .reduce((sum, { value }) => sum + value, 0);
    // prom-client's buckets are cumulative: a sample is in all from its own up, +Inf among them.
    const bounds = new Set(values.map(({ labels }) => labels['le'])).size - 1;
    const count = sumOf(bounds > 0 ? '_count' : '');
    totals.set(name, { count, sum: sumOf('_sum'), positions: bounds * count - sumOf('_bucket') });
  }
  return totals;
}

/** Those of counters and gauges have no name of their own. */
interface PromValue {
  readonly metricName?: string;
  readonly value: number;
}

/** The name of a metric, whose instrument has a dot where OpenTelemetry refuses the colon. */
function vllmName(instrumentName: string): string {
  return instrumentName.replace('.', ':');
}

function totalsOf(value: number | Histogram): Totals {
  if (typeof value === 'number') return { count: value, sum: 0, positions: 0 };
  const positions = value.buckets.counts.reduce((sum, count, position) => sum + count * position, 0);
  return { count: value.count, sum: value.sum ?? Number.NaN, positions };
}

function added(a: Totals, b: Totals): Totals {
  return { count: a.count + b.count, sum: a.sum + b.sum, positions: a.positions + b.positions };
}

const NOTHING: Totals = { count: 0, sum: 0, positions: 0 };
