import { catalogue } from './catalogue/index.ts';
import { instrumentName, type Metric } from './metric.ts';
import { SCOPE_NAME, SCOPE_VERSION } from './scope.ts';

/** What {@link checkViews} reads of a View: the selector fields, the name and the aggregation of a `ViewOptions`. */
export interface ViewSelector {
  readonly name?: string | undefined;
  readonly aggregation?: { readonly type: number } | undefined;
  readonly instrumentName?: string | undefined;
  readonly instrumentType?: string | undefined;
  readonly instrumentUnit?: string | undefined;
  readonly meterName?: string | undefined;
  readonly meterVersion?: string | undefined;
}

/** One thing that is wrong with a list of Views for one metric. */
export interface ViewConflict {
  /**
   * - `double-count`: several Views end in vLLM's name. The SDK lets them share one stream and records every
   *   value once per View, without a word.
   * - `second-stream`: a further View exports the same metric a second time under another name.
   * - `missing`: no View gives the metric vLLM's name, and none drops it: `vllmViews()` is not in the list.
   */
  readonly kind: 'double-count' | 'second-stream' | 'missing';
  /** vLLM's name of the metric. */
  readonly metric: string;
  /** The positions, in the list that was checked, of the Views that select the metric. */
  readonly views: readonly number[];
  /** One sentence that says what is wrong and what to change. */
  readonly message: string;
}

/**
 * Checks the list of Views meant for a MeterProvider for overlaps with those of {@link vllmViews}: the SDK
 * itself neither refuses nor reports them.
 *
 * @param views - The whole list as it will be passed to the MeterProvider.
 * @returns Every conflict, in the order of the catalogue; empty where all is well.
 */
export function checkViews(views: readonly ViewSelector[]): readonly ViewConflict[] {
  return catalogue.flatMap((metric) => conflictsOf(metric, views));
}

function conflictsOf(metric: Metric, views: readonly ViewSelector[]): ViewConflict[] {
  const instrument = instrumentName(metric);
  const matching = [...views.keys()].filter((position) => selects(views[position], metric, instrument));
  const right = matching.filter((position) => views[position]?.name === metric.name);
  const dropping = matching.filter((position) => views[position]?.aggregation?.type === DROP);
  const others = matching.filter(
    (position) => views[position]?.name !== metric.name && !dropping.includes(position),
  );
  const conflicts: ViewConflict[] = [];
  if (right.length === 0 && dropping.length === 0) {
    const message = `no View names the instrument ${instrument} ${metric.name}: add ...vllmViews() to the list`;
    conflicts.push({ kind: 'missing', metric: metric.name, views: matching, message });
  }
  if (right.length > 1) {
    const message = `the Views at ${right.join(', ')} all end in ${metric.name}: each value would count ${right.length} times; keep one`;
    conflicts.push({ kind: 'double-count', metric: metric.name, views: right, message });
  }
  if (others.length > 0) {
    const names = others.map((position) => views[position]?.name ?? instrument);
    const twice = new Set(names).size < names.length ? ', counting twice there,' : '';
    const message = `the Views at ${others.join(', ')} select ${metric.name} too and export it${twice} as ${names.join(', ')}: narrow their selector, for instance by meterName`;
    conflicts.push({ kind: 'second-stream', metric: metric.name, views: others, message });
  }
  return conflicts;
}

function selects(view: ViewSelector | undefined, metric: Metric, instrument: string): boolean {
  return (
    view !== undefined &&
    matchesPattern(view.instrumentName ?? '*', instrument) &&
    (view.instrumentType === undefined || view.instrumentType === INSTRUMENT_TYPES[metric.kind]) &&
    // Our instruments have no unit. Our meter has no schema URL: the SDK lets it pass any that a View asks for.
    (view.instrumentUnit === undefined || view.instrumentUnit === '') &&
    (view.meterName === undefined || view.meterName === SCOPE_NAME) &&
    (view.meterVersion === undefined || view.meterVersion === SCOPE_VERSION)
  );
}

/** `AggregationType.DROP`. */
const DROP = 1;

/** The SDK's names of the instruments that each kind is recorded with. */
const INSTRUMENT_TYPES: Readonly<Record<Metric['kind'], string>> = {
  counter: 'OBSERVABLE_COUNTER',
  gauge: 'OBSERVABLE_GAUGE',
  info: 'OBSERVABLE_GAUGE',
  histogram: 'HISTOGRAM',
};

/** As the SDK matches: case-sensitive, the first `*` for any run of characters, a further one as in a RegExp. */
function matchesPattern(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const source = pattern.replace(/[\\^$.+?()[\]{}|]/g, String.raw`\$&`).replace('*', '.*');
  return new RegExp(`^${source}$`).test(text);
}
