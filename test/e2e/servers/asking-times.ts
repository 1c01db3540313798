import { readPromql } from '../../support/promql.ts';
import type { TimeRange } from './promql-client.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** How far from a moment the windows of `…_over_time` begin. */
const ASIDE = 5;

/**
 * When to ask for a query, given the times that are moments and no whole minutes, so that both servers take the same samples:
 * see `useServedRun`. The steps of a subquery are whole minutes.
 *
 * @param expr PromQL without variables.
 */
export function askingTimes(expr: string, moments: TimeRange): TimeRange {
  const { selectors } = readPromql(expr);
  if (hasCounterWindows(expr) || selectors.every(({ range }) => range === undefined)) return moments;
  return { ...moments, start: moments.start + ASIDE, end: moments.end + ASIDE };
}

/** The simulated times at which windows of `rate` and `increase` begin in these queries, which then must be moments. */
export function windowStarts(exprs: readonly string[], { start, end, step }: TimeRange): ReadonlySet<number> {
  const starts = new Set<number>();
  for (const expr of exprs.filter(hasCounterWindows)) {
    for (const { range } of readPromql(expr).selectors) {
      if (range === undefined) continue;
      for (let time = start; time <= end; time += step) starts.add(time - secondsOf(range));
    }
  }
  return starts;
}

function hasCounterWindows(expr: string): boolean {
  const { functions } = readPromql(expr);
  return functions.includes('rate') || functions.includes('increase');
}

function secondsOf(duration: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(count) * SECONDS[unit!]!;
}
