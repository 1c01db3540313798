import type { Attributes } from '@opentelemetry/api';
import {
  DataPointType,
  type Histogram,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { CurrentEngines } from '../metrics/live-engines.ts';
import { familyName, type FamilyType } from './family-name.ts';
import { labelText } from './label-text.ts';
import { prometheusUnit } from './prometheus-unit.ts';
import { MetricPoints, type FamilyMember } from './metric-family.ts';
import { HistogramLines, LinesByAttributes, NumberLines } from './series-lines.ts';

/** A metric that the text formats can hold. */
export type ExposableMetric = Exclude<MetricData, { dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM }>;

/**
 * What one OpenTelemetry metric is called in Prometheus, with the constant text of its series. The SDK passes the
 * same descriptor and, for a cumulative reader, the same attributes object at every collection; both are keys.
 */
export class MetricStream {
  readonly name: string;
  readonly type: Exclude<FamilyType, 'info'>;
  readonly unit: string;
  /** The names that its sample lines and its TYPE line use: no other family may use them. */
  readonly claims: readonly string[];
  readonly #numbers: LinesByAttributes<number>;
  readonly #histograms: LinesByAttributes<Histogram>;

  /** @param extraLabels - Labels that every series gets, over its own of the same name. */
  constructor(metric: ExposableMetric, extraLabels: Attributes) {
    const { name, unit } = metric.descriptor;
    this.type = typeOf(metric);
    this.unit = prometheusUnit(unit, metric.dataPointType === DataPointType.GAUGE);
    this.name = familyName(name, this.unit, this.type);
    this.claims =
      this.type === 'histogram'
        ? ['', '_bucket', '_sum', '_count'].map((suffix) => this.name + suffix)
        : [this.name];
    this.#numbers = new LinesByAttributes(
      (attributes) => new NumberLines(this.name, labelText({ ...attributes, ...extraLabels })),
    );
    this.#histograms = new LinesByAttributes(
      (attributes) => new HistogramLines(this.name, labelText({ ...attributes, ...extraLabels }, 'le'), name),
    );
  }

  /** Whether this is still the shape of a metric with the same descriptor. */
  fits(metric: ExposableMetric): boolean {
    return this.type === typeOf(metric);
  }

  /**
   * The points of a collection.
   *
   * @param engines - Points of others are left out; all stay where it is undefined.
   */
  member(metric: ExposableMetric, engines: CurrentEngines | undefined): FamilyMember {
    return metric.dataPointType === DataPointType.HISTOGRAM
      ? new MetricPoints(metric.dataPoints, this.#histograms, engines)
      : new MetricPoints(metric.dataPoints, this.#numbers, engines);
  }
}

/** The labels that say which instrumentation scope a series comes from; the SDK's empty version is none. */
export function scopeLabels({ name, version, schemaUrl }: ScopeMetrics['scope']): Attributes {
  return {
    otel_scope_name: name,
    otel_scope_version: version || undefined,
    otel_scope_schema_url: schemaUrl,
  };
}

function typeOf(metric: ExposableMetric): Exclude<FamilyType, 'info'> {
  if (metric.dataPointType === DataPointType.HISTOGRAM) return 'histogram';
  return metric.dataPointType === DataPointType.SUM && metric.isMonotonic ? 'counter' : 'gauge';
}
