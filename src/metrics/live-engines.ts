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

/** The engines that are known at one moment, whatever is added or removed later. */
export class CurrentEngines {
  readonly #engines: ReadonlyMap<unknown, ReadonlySet<unknown>>;

  constructor() {
    this.#engines = new Map([...roster()].map(([model, engines]) => [model, new Set(engines.keys())]));
  }

  /** Whether a series is of one of them, or of none at all. */
  have({ model_name, engine }: Attributes): boolean {
    if (model_name === undefined || engine === undefined) return true;
    return this.#engines.get(String(model_name))?.has(String(engine)) === true;
  }
}

/**
 * The points of series whose engine has not been removed; all where none was.
 *
 * @param points - Of a metric that this package's scope recorded.
 */
export function withoutRemovedEngines<Point extends { readonly attributes: Attributes }>(
  points: readonly Point[],
): readonly Point[] {
  const current = new CurrentEngines();
  const isKept = ({ attributes }: Point): boolean => current.have(attributes);
  return points.every(isKept) ? points : points.filter(isKept);
}
