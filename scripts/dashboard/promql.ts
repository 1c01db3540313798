import { catalogue } from '../../src/metrics/catalogue/index.ts';
import type { Metric } from '../../src/metrics/metric.ts';
import { FILTERS } from './variables.ts';

/** The labels that tell engines apart, also those of one index in several processes. */
export const PER_ENGINE: readonly string[] = ['job', 'instance', 'model_name', 'engine'];

/** How a series of one of {@link PER_ENGINE} is called. */
export const ENGINE_LEGEND = '{{instance}} engine {{engine}}';

/** The per-second rate of a counter, summed. */
export function rateOf(name: Metric['name'], by: readonly string[] = [], where = ''): string {
  return sumOfRate(name, '_total', by, where);
}

/** The values of a gauge, or of the constant 1 with facts in its labels. */
export function gauge(name: Metric['name'], where = ''): string {
  return selector(name, '', where);
}

/** How many samples a histogram takes per second. */
export function samplesPerSecond(name: Metric['name'], by: readonly string[] = []): string {
  return sumOfRate(name, '_count', by);
}

/**
 * How many samples per second are at most `bound`, which must be a boundary of the histogram: between boundaries there is
 * nothing to read. `le` is `5.0` from a scrape and `5` from some stores that receive OTLP.
 */
export function samplesUpTo(bound: number, name: Metric['name']): string {
  const metric = metricOf(name);
  if (metric.kind !== 'histogram' || !metric.boundaries.includes(bound)) {
    throw new Error(`${bound} is no boundary of ${name}`);
  }
  return sumOfRate(name, '_bucket', [], `le=~"${bound}|${bound}[.]0"`);
}

/** How many samples per interval of the graph fell into each bucket, cumulative as buckets are. */
export function bucketIncrease(name: Metric['name']): string {
  return `sum by (le) (increase(${selector(name, '_bucket')}[$__rate_interval]))`;
}

/** A quantile of a histogram over all selected engines, or for each set of labels. */
export function quantile(q: number, name: Metric['name'], by: readonly string[] = []): string {
  return `histogram_quantile(${q}, ${sumOfRate(name, '_bucket', [...by, 'le'])})`;
}

/** The mean of a histogram's samples, of the interval and not since the start. */
export function mean(name: Metric['name']): string {
  return ratio(sumOfRate(name, '_sum'), samplesPerSecond(name));
}

/** One rate by another; where the second is 0, nothing: neither NaN, which stores treat differently, nor a 0 that was never measured. */
export function ratio(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}

function sumOfRate(name: Metric['name'], suffix: string, by: readonly string[] = [], where = ''): string {
  const rate = `rate(${selector(name, suffix, where)}[$__rate_interval])`;
  return by.length === 0 ? `sum(${rate})` : `sum by (${by.join(', ')}) (${rate})`;
}

/** The series of a metric, filtered by those of the dashboard's variables whose label it has. */
function selector(name: Metric['name'], suffix: string, where = ''): string {
  const { labels } = metricOf(name);
  const filters = FILTERS.filter(({ label, ofTarget }) => ofTarget || labels.includes(label));
  const matchers = filters.map(({ label, variable }) => `${label}=~"$${variable}"`);
  return `${name}${suffix}{${[...matchers, ...(where === '' ? [] : [where])].join(', ')}}`;
}

function metricOf(name: Metric['name']): Metric {
  const metric = catalogue.find((row) => row.name === name);
  if (metric === undefined) throw new Error(`${name} is not in the catalogue`);
  return metric;
}
