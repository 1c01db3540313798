import { catalogue } from '../../src/metrics/catalogue/index.ts';
import type { Metric } from '../../src/metrics/metric.ts';
import type { PromqlReading } from './promql.ts';

/** Every series name that a Prometheus endpoint of this package exposes for the catalogue, with its metric. */
export const exposedSeries: ReadonlyMap<string, Metric> = new Map(
  catalogue.flatMap((metric) => seriesNames(metric).map((name) => [name, metric] as const)),
);

function seriesNames(metric: Metric): readonly string[] {
  if (metric.kind === 'histogram') return ['_bucket', '_sum', '_count'].map((part) => metric.name + part);
  return [metric.kind === 'counter' ? `${metric.name}_total` : metric.name];
}

/** The labels that Prometheus adds to whatever it scrapes. */
const TARGET_LABELS: ReadonlySet<string> = new Set(['job', 'instance']);

/**
 * What a query uses that the catalogue does not have, in words: names of series, and labels of those by which the query
 * selects or groups. `others` are series from elsewhere, whose labels are not looked at.
 */
export function notInCatalogue(reading: PromqlReading, others: readonly string[] = []): string[] {
  const uses = [
    ...reading.selectors.map(({ metric, matchers }) => ({
      metrics: [metric],
      labels: matchers.map(({ label }) => label),
    })),
    ...reading.groupings,
  ];
  const faults = uses.flatMap(({ metrics, labels }) =>
    metrics
      .filter((name) => !others.includes(name))
      .flatMap((name) => {
        const metric = exposedSeries.get(name);
        if (metric === undefined) return [`${name} is not exposed`];
        return labels
          .filter((label) => !hasLabel(name, metric, label))
          .map((label) => `${name} has no label ${label}`);
      }),
  );
  return [...new Set(faults)];
}

function hasLabel(name: string, metric: Metric, label: string): boolean {
  if (label === 'le') return metric.kind === 'histogram' && name.endsWith('_bucket');
  return TARGET_LABELS.has(label) || metric.labels.includes(label) || metric.openLabels !== undefined;
}
