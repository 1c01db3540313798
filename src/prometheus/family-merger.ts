import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import { CurrentEngines } from '../metrics/live-engines.ts';
import { SCOPE_NAME } from '../metrics/scope.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { FamilyType } from './family-name.ts';
import type { FamilyMember, MetricFamily } from './metric-family.ts';
import { MetricStream, scopeLabels, type ExposableMetric } from './metric-stream.ts';

interface OpenFamily extends MetricFamily {
  help: string;
  unit: string;
  readonly members: FamilyMember[];
}

/**
 * Turns what a collection gives into families: one per exposed name, so that HELP and TYPE come once. What cannot be
 * exposed beside what came before it (another type under the same name, a name that a histogram's lines use) is left
 * out whole, and said once.
 */
export class FamilyMerger {
  readonly #withScopeLabels: boolean;
  readonly #diagnostics: Diagnostics;
  readonly #streams = new WeakMap<MetricData['descriptor'], MetricStream>();

  constructor(withScopeLabels: boolean, diagnostics: Diagnostics) {
    this.#withScopeLabels = withScopeLabels;
    this.#diagnostics = diagnostics;
  }

  /** @param first - Families that stand before all others and whose names are taken. */
  merge(scopes: ResourceMetrics['scopeMetrics'], first: readonly MetricFamily[]): MetricFamily[] {
    const families = new Map<string, OpenFamily>();
    const owners = new Map(first.map(({ name, type }) => [name, identify(name, type)]));
    // Of one moment, since points are looked at as they are written.
    const engines = new CurrentEngines();
    for (const { scope, metrics } of scopes) {
      const isOurs = scope.name === SCOPE_NAME;
      for (const metric of metrics) {
        if (isOurs) this.#checkViews(metric);
        if (this.#isExposable(metric))
          this.#add(metric, isOurs ? engines : undefined, this.#streamOf(metric, scope), families, owners);
      }
    }
    return [...first, ...families.values()];
  }

  #add(
    metric: ExposableMetric,
    engines: CurrentEngines | undefined,
    stream: MetricStream,
    families: Map<string, OpenFamily>,
    owners: Map<string, string>,
  ): void {
    const { name, type, unit } = stream;
    const identity = identify(name, type);
    const claimed = stream.claims.find((claim) => (owners.get(claim) ?? identity) !== identity);
    if (claimed !== undefined) {
      this.#diagnostics.warnOnce(
        `clash ${name} ${type}`,
        `the metric ${metric.descriptor.name} is left out: as ${identity}, it would use the name ${claimed} of ${owners.get(claimed)}; rename one with a View`,
      );
      return;
    }
    for (const claim of stream.claims) owners.set(claim, identity);
    let family = families.get(name);
    if (family === undefined) {
      family = { name, type, help: '', unit, members: [] };
      families.set(name, family);
    }
    family.help ||= metric.descriptor.description;
    family.unit ||= unit;
    family.members.push(stream.member(metric, engines));
  }

  #streamOf(metric: ExposableMetric, scope: ScopeMetrics['scope']): MetricStream {
    let stream = this.#streams.get(metric.descriptor);
    if (stream === undefined || !stream.fits(metric)) {
      stream = new MetricStream(metric, this.#withScopeLabels ? scopeLabels(scope) : {});
      this.#streams.set(metric.descriptor, stream);
    }
    return stream;
  }

  #isExposable(metric: MetricData): metric is ExposableMetric {
    const { name } = metric.descriptor;
    if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) {
      this.#diagnostics.warnOnce(
        `exponential ${name}`,
        `the metric ${name} is left out: the text formats cannot hold exponential histograms; give it explicit buckets with a View`,
      );
      return false;
    }
    const isDelta = metric.aggregationTemporality === AggregationTemporality.DELTA;
    if (isDelta && metric.dataPointType !== DataPointType.GAUGE) {
      this.#diagnostics.warnOnce(
        'delta',
        `the metric ${name} is left out, and so is every other whose metric producer gives deltas: Prometheus needs cumulative values; of a BoundMeterProvider, pass producer() without a temporality`,
      );
      return false;
    }
    return true;
  }

  #checkViews(metric: MetricData): void {
    if (!metric.descriptor.name.startsWith('vllm.')) return;
    this.#diagnostics.warnOnce(
      'views',
      `the metric ${metric.descriptor.name} lacks vLLM's name: the MeterProvider has no Views of this package. Add them: new MeterProvider({ views: [...vllmViews()], readers: [exporter] }), with vllmViews from 'opentelemetry-instrumentation-vllm'`,
    );
  }
}

function identify(name: string, type: FamilyType): string {
  return `${name} (${type})`;
}
