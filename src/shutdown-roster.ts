/** What a roster holds: an instrumentation, of this copy of the package or another. */
export interface Enlisted {
  disable(): void;
}

/** The place of a provider's roster: on the provider, found from every copy of the package. */
const ROSTER: unique symbol = Symbol.for('opentelemetry-instrumentation-vllm: disabled before the shutdown');

interface MayHaveRoster {
  [ROSTER]?: Set<Enlisted>;
}

/**
 * Makes a provider keep account of the instrumentations that connect to it. Whoever shuts it down disables these
 * before, so that the requests in flight are in its last collection.
 */
export function keepRoster(provider: object): ReadonlySet<Enlisted> {
  const roster = new Set<Enlisted>();
  const keeper: MayHaveRoster = provider;
  keeper[ROSTER] = roster;
  return roster;
}

/** Enters an instrumentation where its provider keeps a roster. What is no provider keeps none. */
export function enlist(provider: object | null | undefined, instrumentation: Enlisted): void {
  const keeper: MayHaveRoster | null | undefined = provider;
  keeper?.[ROSTER]?.add(instrumentation);
}
