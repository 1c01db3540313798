import { describe, expect, it } from 'vitest';
import { exposedSeries } from '../../support/exposed-series.ts';
import { askingTimes, windowStarts } from './asking-times.ts';
import {
  byEngine,
  LogWindow,
  panelFigures,
  ruleFigures,
  total,
  type Figures,
  type LogFigure,
} from './log-figures.ts';
import type { RangeSeries, TimeRange } from './promql-client.ts';
import { sameAnswers } from './same-answers.ts';
import { exampleQueries, isOfScrapes, panelQueries, servedRuleQueries } from './served-queries.ts';
import { useServedRun } from './served-run.ts';
import type { ToldRequest } from './telling-run.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const STEP = 15;
const END = 8 * MINUTE + STEP;

const WHOLE: TimeRange = { start: 0, end: END, step: STEP };
const LAST: TimeRange = { ...WHOLE, start: END };
/** When the queries are asked: twice while requests come, and once when all have ended. No whole minutes: see `askingTimes`. */
const TIMES: TimeRange = { start: END - 2 * MINUTE, end: END, step: MINUTE };

const ownQueries = [...panelQueries, ...servedRuleQueries];
const allQueries = [...ownQueries, ...(exampleQueries ?? [])];

/** The queries that both servers answer with nothing; all others must have an answer at each time. */
const EMPTY: readonly string[] = ['absent_over_time(vllm:num_requests_running[1d])'];

const run = useServedRun({
  scenario: ['--seed', '7', '--kv-blocks', '700', '--duration', '480', '--rate', '6'],
  moments: [
    ...new Set([
      ...windowStarts(
        allQueries.flatMap(({ written }) => written.map(({ promql }) => promql)),
        TIMES,
      ),
      // Where the windows begin of a subquery's first rates that have a request.
      ...[-5, -4, -3, -2, -1].map((minutes) => minutes * MINUTE),
      ...timesOf(WHOLE),
    ]),
  ].sort((a, b) => a - b),
});

describe('a run that Prometheus scraped and VictoriaMetrics got over OTLP', () => {
  it('is the same in both: every series with all its labels, every value at every moment', async () => {
    const answer = await sameAnswers(run(), '{__name__=~"vllm:.+"}', WHOLE);
    const exposed = run().exposition.match(/^vllm:.*$/gm) ?? [];
    expect(answer).toHaveLength(exposed.length);
    expect(new Set(answer.map(({ values }) => values.length))).toEqual(new Set([END / STEP + 1]));
  });

  it('has every series that the catalogue knows, those of diffusion models apart', async () => {
    const answer = await sameAnswers(run(), 'count by (__name__) ({__name__=~"vllm:.+"})', LAST);
    const names = answer.map(({ labels }) => labels['__name__']);
    const expected = [...exposedSeries.keys()].filter((name) => !name.startsWith('vllm:diffusion_'));
    expect(new Set(names)).toEqual(new Set(expected));
  });

  it.each([
    ['vllm:request_num_preemptions', '1.0 2.0 3.0 4.0 5.0 10.0 20.0 +Inf'],
    [
      'vllm:request_prompt_tokens',
      '1.0 2.0 5.0 10.0 20.0 50.0 100.0 200.0 500.0 1000.0 2000.0 5000.0 10000.0 20000.0 50000.0 100000.0 131072.0 +Inf',
    ],
    ['vllm:kv_offload_load_size', '1e+06 5e+06 1e+07 2e+07 4e+07 6e+07 8e+07 1e+08 1.5e+08 2e+08 +Inf'],
    [
      'vllm:nixl_bytes_transferred',
      '2048.0 8192.0 32768.0 131072.0 524288.0 2.097152e+06 8.388608e+06 3.3554432e+07 1.34217728e+08 5.36870912e+08 2.147483648e+09 8.589934592e+09 +Inf',
    ],
  ])('has the boundaries of %s as a scrape writes them', async (histogram, boundaries) => {
    const answer = await sameAnswers(run(), `count by (le) (${histogram}_bucket)`, LAST);
    expect(new Set(answer.map(({ labels }) => labels['le']))).toEqual(new Set(boundaries.split(' ')));
  });
});

describe.each([
  ['the dashboard', panelQueries],
  ['the rules', servedRuleQueries],
])('every query of %s', (_, queries) => {
  it.each(named(queries.filter((query) => !isOfScrapes(query))))(
    'has the same answer from both servers: %s',
    async (__, { expr, written }) => {
      for (const { promql } of written) {
        const times = askingTimes(promql, TIMES);
        const answer = await sameAnswers(run(), promql, times, { mayBeEmpty: true });
        expect(answeredTimes(answer), promql).toEqual(EMPTY.includes(expr) ? [] : timesOf(times));
      }
    },
  );

  it.each(named(queries.filter(isOfScrapes)))(
    'that is about scrapes has its answer by the clock, and from Prometheus alone: %s',
    async (__, { written, mayBeEmpty }) => {
      const { promql } = written[0]!;
      const [scraped, ...others] = await run().prometheus.query(promql);
      expect([scraped?.value, others]).toEqual([1, []]);
      expect(await run().victoriaMetrics.query(promql)).toEqual([]);
      expect(mayBeEmpty).toBeDefined();
    },
  );
});

describe('the queries that return nothing', () => {
  it('say why', () => {
    const empty = ownQueries.filter(({ expr }) => EMPTY.includes(expr));
    expect(empty.map(({ expr }) => expr)).toEqual(EMPTY);
    expect(empty.filter(({ mayBeEmpty }) => mayBeEmpty === undefined)).toEqual([]);
  });
});

describe('what the simulator’s log says', () => {
  it('is of every way to end, and of requests preempted more than ten times', () => {
    const { ended } = new LogWindow(run().records, END, HOUR);
    expect(ended).toHaveLength(run().records.length);
    const reasons = new Set(ended.map(({ finishReason }) => finishReason));
    expect(reasons).toEqual(new Set(['stop', 'length', 'abort', 'error', 'repetition']));
    expect(Math.max(...ended.map(({ preemptions }) => preemptions))).toBeGreaterThan(10);
  });

  it.each(named(panelFigures))('is what the dashboard shows: %s', async (_, figure) => {
    for (const { promql, seconds } of panelQueries.find(({ name }) => name === figure.name)!.written) {
      expect(await shownFigures(promql, figure, TIMES)).toEqual(loggedFigures(figure, seconds, TIMES));
    }
  });

  it.each(named(ruleFigures))('is what the rules compute: %s', async (_, figure) => {
    const { promql } = servedRuleQueries.find(({ name }) => name === figure.name)!.written[0]!;
    expect(await shownFigures(promql, figure, TIMES)).toEqual(loggedFigures(figure, figure.seconds, TIMES));
  });

  it.each<[string, (request: ToldRequest) => number]>([
    ['vllm:generation_tokens_total', ({ reported }) => reported.generatedTokens],
    ['vllm:num_preemptions_total', ({ preemptions }) => preemptions],
    ['vllm:request_success_total', () => 1],
  ])('is what the run adds up to in %s', async (counter, of) => {
    const figure = {
      label: 'engine',
      figures: ({ ended }: LogWindow) => byEngine(ended, (own) => total(own, of)),
    };
    const shown = await shownFigures(`sum by (engine) (increase(${counter}[1h]))`, figure, LAST);
    expect(shown).toEqual(loggedFigures(figure, HOUR, LAST));
  });
});

describe('the exemplars of the run', () => {
  const window = (): TimeRange => run().range({ ...WHOLE, start: -1 });

  it('are in Prometheus the traces of requests that were preempted as often as they say', async () => {
    const series = await run().prometheus.queryExemplars('vllm:request_num_preemptions_bucket', window());
    const exemplars = series.flatMap((one) => one.exemplars);
    expect(new Set(series.map(({ labels }) => labels['le']))).toContain('20.0');
    const preemptionsOf = new Map(
      run().traced.spans.map((span) => [
        span.spanContext().traceId,
        span.events.filter(({ name }) => name === 'vllm.request.preempted').length,
      ]),
    );
    expect(exemplars.map(({ value }) => value)).toEqual(
      exemplars.map(({ labels }) => preemptionsOf.get(labels['trace_id']!)),
    );
  });

  it('are in VictoriaMetrics none', async () => {
    const selector = '{__name__=~"vllm:.+"}';
    expect(await run().victoriaMetrics.queryExemplars(selector, window())).toEqual([]);
    expect(await run().prometheus.queryExemplars(selector, window())).not.toEqual([]);
  });
});

describe("vLLM's own example dashboard", () => {
  it('has twelve panels', ({ skip }) => {
    skip(
      exampleQueries === undefined,
      'no ../shared/fixtures/vllm-example-grafana.json beside this checkout: none of its queries was asked',
    );
    expect(new Set(exampleQueries?.map(({ name }) => name.slice(0, -2))).size).toBe(12);
  });

  it.each(named(exampleQueries ?? []))(
    'has data in every panel, the same from both servers: %s',
    async (_, { written }) => {
      for (const { promql } of written) {
        const answer = await sameAnswers(run(), promql, TIMES);
        expect(answeredTimes(answer), promql).toEqual(timesOf(TIMES));
      }
    },
  );
});

/** Rows for a table of tests whose names have the whole name of each. */
function named<T extends { readonly name: string }>(rows: readonly T[]): [string, T][] {
  return rows.map((row) => [row.name, row]);
}

function timesOf({ start, end, step }: TimeRange): number[] {
  return Array.from({ length: (end - start) / step + 1 }, (_, position) => start + position * step);
}

/** The simulated times at which any series has a value. */
function answeredTimes(answer: readonly RangeSeries[]): number[] {
  const times = new Set(answer.flatMap(({ values }) => values.map(([timestamp]) => timestamp)));
  return [...times].map((timestamp) => timestamp - run().unixTime(0)).sort((a, b) => a - b);
}

/** What both servers say at each time. */
async function shownFigures(
  promql: string,
  { label }: Pick<LogFigure, 'label'>,
  times: TimeRange,
): Promise<Figures[]> {
  const answer = await sameAnswers(run(), promql, times);
  return timesOf(times).map((time) =>
    Object.fromEntries(
      answer.flatMap(({ labels, values }) =>
        values
          .filter(([timestamp]) => timestamp === run().unixTime(time))
          .map(([, value]) => [label === undefined ? '' : labels[label]!, value] as const),
      ),
    ),
  );
}

/** What they must say, to the sixth decimal: latencies are differences of Unix times. */
function loggedFigures(
  { figures }: Pick<LogFigure, 'figures'>,
  seconds: number,
  times: TimeRange,
): Figures[] {
  return timesOf(times).map((time) => {
    const logged = Object.entries(figures(new LogWindow(run().records, time, seconds)));
    return Object.fromEntries(logged.map(([series, value]) => [series, expect.closeTo(value, 6) as number]));
  });
}
