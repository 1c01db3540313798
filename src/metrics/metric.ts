/**
 * One metric of vLLM: the row from which instrument, View, series, documentation and tests are derived.
 */
export type Metric = CounterMetric | GaugeMetric | InfoMetric | HistogramMetric;

interface MetricBase {
  /** vLLM's name, colon included, without the `_total` that the exposition adds to counters. */
  readonly name: `vllm:${string}`;
  /** What it means, as HELP text and instrument description. */
  readonly description: string;
  /** What one unit of the value is, for people. It is no OpenTelemetry unit: that would become a name suffix. */
  readonly unit: string;
  /** Label names beside whatever {@link openLabels} allows. */
  readonly labels: readonly string[];
  /** The closed sets of label values, where a label has one. */
  readonly labelValues?: Readonly<Record<string, readonly string[]>>;
  /** Where the remaining labels come from, for metrics whose label names vary by deployment. */
  readonly openLabels?: string;
  /** True where label values are texts of the deployment, so that there is no telling how many series come. */
  readonly freeLabelValues?: true;
}

/** A sum that only grows; exposed with `_total`. */
export interface CounterMetric extends MetricBase {
  readonly kind: 'counter';
}

/** A value that goes up and down. */
interface GaugeMetric extends MetricBase {
  readonly kind: 'gauge';
}

/** Facts carried in labels, with the constant value 1; a gauge to OpenTelemetry. */
interface InfoMetric extends MetricBase {
  readonly kind: 'info';
}

/** A distribution over explicit buckets. */
export interface HistogramMetric extends MetricBase {
  readonly kind: 'histogram';
  /** Upper bounds, inclusive, ascending; `+Inf` is implied. */
  readonly boundaries: readonly number[];
  /** True where the boundaries follow the model's context length: see `boundariesFor`. */
  readonly cappedByMaxModelLen?: true;
}

/** The label names that nearly every metric has. */
export const BASE_LABELS: readonly string[] = ['model_name', 'engine'];

/**
 * The OpenTelemetry instrument name of a metric. A colon is not valid in an instrument name, so `vllm:x` is
 * recorded as `vllm.x`; the View gives the colon back, since View names are not validated.
 */
export function instrumentName(metric: Pick<Metric, 'name'>): string {
  return metric.name.replace(':', '.');
}

/** The row of a counter without labels of its own. */
export function perEngineCounter(name: Metric['name'], unit: string, description: string): CounterMetric {
  return { name, kind: 'counter', labels: BASE_LABELS, unit, description };
}
