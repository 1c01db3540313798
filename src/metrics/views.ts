import { boundariesFor, requireMaxModelLen } from './boundaries.ts';
import { catalogue } from './catalogue/index.ts';
import { instrumentName, type Metric } from './metric.ts';
import { SCOPE_NAME } from './scope.ts';

/** Options of {@link vllmViews}. */
export interface VllmViewsOptions {
  /**
   * The model's context length in tokens; sizes the token buckets. Where it is left out, each instrumentation's
   * own `maxModelLen` decides.
   */
  readonly maxModelLen?: number | undefined;
}

/**
 * One View: assignable to the `ViewOptions` of `@opentelemetry/sdk-metrics`, and written without that package's
 * types so that the root entry needs the OpenTelemetry API alone.
 */
export interface VllmView {
  name: string;
  instrumentName: string;
  meterName: string;
  /**
   * Far above what this package makes, which bounds its engines itself: the SDK's default is 2000 series. Lower where
   * label values are free text, of which the SDK forgets none.
   */
  aggregationCardinalityLimit: number;
  aggregation?: {
    /** `AggregationType.EXPLICIT_BUCKET_HISTOGRAM`. */
    type: 4;
    options: { boundaries: number[] };
  };
}

/**
 * The Views that give vLLM's names, colon included, and its buckets to everything this package records. They
 * hold no attribute processor, so a record costs the same with them as without.
 *
 * Pass the whole list to the MeterProvider: `new MeterProvider({ readers, views: [...vllmViews(), ...yours] })`.
 * Check a longer list with `checkViews`.
 *
 * @throws TypeError when `maxModelLen` is not a whole number of at least 1.
 */
export function vllmViews(options: VllmViewsOptions = {}): VllmView[] {
  const maxModelLen = requireMaxModelLen(options.maxModelLen);
  return catalogue.map((metric) => toView(metric, maxModelLen));
}

function toView(metric: Metric, maxModelLen: number | undefined): VllmView {
  const view: VllmView = {
    name: metric.name,
    instrumentName: instrumentName(metric),
    meterName: SCOPE_NAME,
    aggregationCardinalityLimit: metric.freeLabelValues ? 2 ** 14 : 2 ** 20,
  };
  // Without explicit buckets the SDK takes the instrument's advice, which knows the instrumentation's own length.
  const adviceDecides =
    metric.kind !== 'histogram' || (metric.cappedByMaxModelLen && maxModelLen === undefined);
  if (adviceDecides) return view;
  return {
    ...view,
    aggregation: { type: 4, options: { boundaries: [...boundariesFor(metric, maxModelLen)] } },
  };
}
