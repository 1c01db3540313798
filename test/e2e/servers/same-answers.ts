import assert from 'node:assert/strict';
import type { RangeSeries, TimeRange } from './promql-client.ts';
import type { ServedRun } from './served-run.ts';

/**
 * How far two numbers may be apart, as a share of them. VictoriaMetrics keeps about 12 decimal digits of the largest number of a
 * series, and a rate is made of differences.
 */
const TOLERANCE = 1e-9;

/** Options of {@link sameAnswers}. */
export interface SameAnswersOptions {
  /** Whether both may answer with nothing, too. Default `false`. */
  readonly mayBeEmpty?: boolean;
}

/**
 * Asks both servers, and fails where they do not say the same: the same series, all labels compared, with samples at the
 * same times, equal to the ninth digit. A sample that is not a number counts as none, for VictoriaMetrics returns none
 * where Prometheus returns NaN: a quantile of nothing, say.
 *
 * @param simulated The times to ask for, in simulated seconds: moments of the run.
 * @returns The answer.
 */
export async function sameAnswers(
  run: ServedRun,
  promql: string,
  simulated: TimeRange,
  { mayBeEmpty = false }: SameAnswersOptions = {},
): Promise<readonly RangeSeries[]> {
  const range = run.range(simulated);
  const [scraped, pushed] = await Promise.all([
    run.prometheus.queryRange(promql, range),
    run.victoriaMetrics.queryRange(promql, range),
  ]);
  const answer = withoutNaN(scraped);
  const hasNames = answer.some(({ labels }) => '__name__' in labels);
  const differences = differencesOf(answer, hasNames ? withoutNaN(pushed) : withoutNames(withoutNaN(pushed)));
  assert.equal(differences.join('\n'), '', `Prometheus and VictoriaMetrics differ in ${promql}`);
  if (!mayBeEmpty) assert.notEqual(answer.length, 0, `neither server returns anything for ${promql}`);
  return answer;
}

/** What the second answer has otherwise than the first, one line each. */
export function differencesOf(first: readonly RangeSeries[], second: readonly RangeSeries[]): string[] {
  const samples = [samplesOf(first), samplesOf(second)] as const;
  const keys = new Set(samples.flatMap((map) => [...map.keys()]));
  return [...keys].flatMap((key) => {
    const [a, b] = [samples[0].get(key), samples[1].get(key)];
    return isSame(a, b) ? [] : [`${key}: ${a ?? 'nothing'} and ${b ?? 'nothing'}`];
  });
}

function withoutNaN(answer: readonly RangeSeries[]): readonly RangeSeries[] {
  return answer
    .map(({ labels, values }) => ({ labels, values: values.filter(([, value]) => !Number.isNaN(value)) }))
    .filter(({ values }) => values.length > 0);
}

function withoutNames(answer: readonly RangeSeries[]): readonly RangeSeries[] {
  return answer.map(({ labels: { __name__, ...labels }, values }) => ({ labels, values }));
}

/** The values by labels and time. */
function samplesOf(answer: readonly RangeSeries[]): Map<string, number> {
  const samples = new Map<string, number>();
  for (const { labels, values } of answer) {
    const series = JSON.stringify(
      Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))),
    );
    for (const [timestamp, value] of values) samples.set(`${series} @ ${timestamp}`, value);
  }
  return samples;
}

function isSame(a: number | undefined, b: number | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || Math.abs(a - b) <= TOLERANCE * Math.min(Math.abs(a), Math.abs(b));
}
