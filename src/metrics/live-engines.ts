import type { Attributes } from '@opentelemetry/api';
import type { SeriesAttributes } from './series-attributes.ts';

/** How many instrumentations of this process know an engine, by model name and engine index. */
type Roster = Map<string, Map<string, number>>;

/** The place of the roster, the same for every copy of this package. */
const ROSTER = Symbol.for('opentelemetry-instrumentation-vllm: engines of this process, version 1');

function roster(): Roster {
  const holder = globalThis as { [ROSTER]?: Roster };
  return (holder[ROSTER] ??= new Map());
}

/**
 * Says that an engine is known: readers of this package expose its series.
 *
 * The SDK forgets no series: a cumulative reader goes on collecting the last values of an engine that has been removed.
 * So what is exposed is decided where it leaves the process.
 *
 * @param attributes - `model_name` and `engine`.
 */
export function engineAdded({ model_name = '', engine = '' }: SeriesAttributes): void {
  const all = roster();
  const engines = all.get(model_name) ?? new Map<string, number>();
  all.set(model_name, engines);
  engines.set(engine, (engines.get(engine) ?? 0) + 1);
}

/** Takes back one {@link engineAdded}. */
export function engineRemoved({ model_name = '', engine = '' }: SeriesAttributes): void {
  const all = roster();
  const engines = all.get(model_name);
  const left = (engines?.get(engine) ?? 0) - 1;
  if (left > 0) engines?.set(engine, left);
  else engines?.delete(engine);
  if (engines?.size === 0) all.delete(model_name);
}

/**
 * The points of series whose engine has not been removed; all where none was.
 *
 * @param points - Of a metric that this package's scope recorded.
 */
export function withoutRemovedEngines<Point extends { readonly attributes: Attributes }>(
  points: readonly Point[],
): readonly Point[] {
  const all = roster();
  const isCurrent = ({ attributes: { model_name, engine } }: Point): boolean =>
    model_name === undefined ||
    engine === undefined ||
    all.get(String(model_name))?.has(String(engine)) === true;
  return points.every(isCurrent) ? points : points.filter(isCurrent);
}
