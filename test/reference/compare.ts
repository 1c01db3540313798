import type { Action } from './action.ts';
import { LiveService } from './live-service.ts';
import type { ModelOptions } from './model.ts';
import { apply, createModel } from './reference-model.ts';

/** How far a histogram's sum of doubles may be off: the SDK and the model add in different orders. */
const SUM_TOLERANCE = 1e-9;

/** How far a number above 2^53 may be off: between two collections the SDK subtracts and adds up again, in doubles. */
const HUGE_TOLERANCE = 1e-14;

/** What a stream came to. */
export interface Comparison {
  /** Each sample that differed in a scrape, the first scrape with any. */
  readonly differences: readonly string[];
  /** The samples that were above 0 in some scrape, by name: what there was to compare. */
  readonly moved: ReadonlySet<string>;
}

/** Gives a stream to the model and to the real thing, and compares every sample of every scrape, the last one included. */
export async function compareOn(actions: readonly Action[], options: ModelOptions): Promise<Comparison> {
  const model = createModel(options);
  const live = new LiveService(options);
  const differences: string[] = [];
  const moved = new Set<string>();
  try {
    const end: Action = { at: actions.at(-1)?.at ?? 0, kind: 'scrape' };
    for (const [position, action] of [...actions, end].entries()) {
      const expected = apply(model, action);
      const scraped = await live.apply(action);
      if (expected === undefined || scraped === undefined) continue;
      for (const [key, value] of scraped) if (value > 0) moved.add(key.slice(0, key.indexOf('{')));
      const found = differencesOf(expected, scraped);
      differences.push(...found.map((difference) => `at action ${position}: ${difference}`));
      // What differs once differs in every scrape from then on.
      if (differences.length > 0) break;
    }
  } finally {
    await live.shutdown();
  }
  return { differences, moved };
}

function differencesOf(
  expected: ReadonlyMap<string, number>,
  scraped: ReadonlyMap<string, number>,
): readonly string[] {
  const keys = new Set([...expected.keys(), ...scraped.keys()]);
  return [...keys].flatMap((key) => {
    const [wanted, found] = [expected.get(key), scraped.get(key)];
    return isSame(key, wanted, found) ? [] : [`${key} is ${found}, the model says ${wanted}`];
  });
}

function isSame(key: string, wanted: number | undefined, found: number | undefined): boolean {
  if (Object.is(wanted, found)) return true;
  if (wanted === undefined || found === undefined) return false;
  const isSum = key.slice(0, key.indexOf('{')).endsWith('_sum');
  const tolerance = isSum ? SUM_TOLERANCE : wanted > Number.MAX_SAFE_INTEGER ? HUGE_TOLERANCE : 0;
  return Math.abs(wanted - found) <= tolerance * wanted;
}
