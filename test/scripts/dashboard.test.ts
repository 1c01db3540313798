import { existsSync, readFileSync } from 'node:fs';
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
import { describe, expect, it } from 'vitest';
import { buildDashboard, dashboardQueries, dashboardRows } from '../../scripts/dashboard/dashboard.ts';
import { exposedSeries, notInCatalogue } from '../support/exposed-series.ts';
import { readPromql, substituteVariables, type PromqlReading } from '../support/promql.ts';

const FILE = new URL('../../docs/grafana/vllm-requests.json', import.meta.url);
const README = new URL('../../README.md', import.meta.url);

const dashboard: Dashboard = buildDashboard();
const everything = dashboard.panels ?? [];
const panels = everything.filter((panel): panel is Panel => panel.type !== 'row');
const targets = panels.flatMap((panel) =>
  ((panel.targets ?? []) as Dataquery[]).map((target) => ({ panel, target })),
);
const variables = dashboard.templating.list ?? [];

/** Engine arguments of vLLM by which an operator can change what the panels show. */
const SETTINGS: readonly string[] = [
  'gpu_memory_utilization',
  'kv_cache_dtype',
  'tensor_parallel_size',
  'data_parallel_size',
  'max_num_seqs',
  'max_num_batched_tokens',
  'max_model_len',
  'enable_prefix_caching',
  'kv_transfer_config',
  'speculative_config',
  'num_speculative_tokens',
  'enable_sleep_mode',
];

/** The query with a choice made for each variable. */
function readQuery(expr: string): PromqlReading {
  const chosen = Object.fromEntries(variables.map(({ name }) => [name, '.*']));
  return readPromql(substituteVariables(expr, { ...chosen, __rate_interval: '1m' }));
}

describe('docs/grafana/vllm-requests.json', () => {
  it('is what the script makes it; where this fails, run `npm run docs`', () => {
    const written: unknown = JSON.parse(readFileSync(FILE, 'utf8'));
    expect(JSON.stringify(written, undefined, 2)).toBe(JSON.stringify(dashboard, undefined, 2));
  });

  it('has the same uid at each import, so that links to it stay good', () => {
    expect(dashboard).toMatchObject({ uid: 'vllm-requests', title: 'vLLM requests' });
    expect(dashboard).not.toHaveProperty('id');
  });
});

describe('the variables of the dashboard', () => {
  it('choose the data source, and one, several or all jobs, instances, models and engines', () => {
    expect(variables.map(({ name, type, multi, includeAll }) => [name, type, multi, includeAll])).toEqual([
      ['datasource', 'datasource', false, false],
      ['job', 'query', true, true],
      ['instance', 'query', true, true],
      ['model', 'query', true, true],
      ['engine', 'query', true, true],
    ]);
  });

  it('each offer what the ones before leave, from a series that every engine has', () => {
    const definitions = variables.slice(1).map(({ definition }) => definition);
    expect(definitions).toEqual([
      'label_values(vllm:num_requests_running, job)',
      'label_values(vllm:num_requests_running{job=~"$job"}, instance)',
      'label_values(vllm:num_requests_running{job=~"$job", instance=~"$instance"}, model_name)',
      'label_values(vllm:num_requests_running{job=~"$job", instance=~"$instance", model_name=~"$model"}, engine)',
    ]);
    expect(variables.slice(1).map(({ query }) => (query as { query: string }).query)).toEqual(definitions);
  });

  it('take series without the label by "All", the job apart: `up` is not to be that of all jobs', () => {
    expect(variables.slice(1).map(({ allValue }) => allValue)).toEqual([undefined, '.*', '.*', '.*']);
  });

  it('give every panel and query its data source', () => {
    const chosen = { type: 'prometheus', uid: '${datasource}' };
    const asking = panels.filter(({ targets: queries }) => queries !== undefined);
    expect(asking.map(({ datasource }) => datasource)).toEqual(asking.map(() => chosen));
    expect(targets.map(({ target }) => target.datasource)).toEqual(targets.map(() => chosen));
  });
});

describe('the panels of the dashboard', () => {
  it('have ids and titles of their own', () => {
    const ids = everything.map(({ id }) => id);
    expect(ids).toEqual(everything.map((_, position) => position + 1));
    const titles = panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('stand in the grid without overlap, and each row below the one before', () => {
    const taken = new Map<string, string>();
    for (const panel of everything) {
      const { x, y, w, h } = panel.gridPos!;
      expect(x + w, panel.title).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          expect(taken.get(`${column},${line}`), `under ${panel.title}`).toBeUndefined();
          taken.set(`${column},${line}`, panel.title!);
        }
      }
    }
    const starts = everything
      .filter((panel): panel is RowPanel => panel.type === 'row')
      .map(({ title, gridPos }) => [title, gridPos!.y]);
    expect(starts.map(([title]) => title)).toEqual(dashboardRows.map(({ title }) => title));
    expect(starts).toEqual(starts.toSorted((a, b) => Number(a[1]) - Number(b[1])));
  });

  it.each(panels)('$title: the description says what it shows and what to do', (panel) => {
    const [shows, whenBad, ...rest] = panel.description!.split('\n\n');
    expect(shows).toMatch(/^\S.{20,}\.$/);
    expect(whenBad).toMatch(/^\*\*When it looks bad:\*\* .{60,}\.$/);
    expect(rest.filter((paragraph) => !paragraph.startsWith('**May be empty:** '))).toEqual([]);
  });

  it.each(panels.filter(({ type }) => type !== 'text'))(
    '$title: what to do names a setting of vLLM',
    ({ description }) => {
      const [, whatToDo] = description!.split('**When it looks bad:**');
      expect(SETTINGS.filter((setting) => whatToDo!.includes(`\`${setting}\``))).not.toEqual([]);
    },
  );

  it('say in their description which queries may be empty, and why', () => {
    const reasons = dashboardQueries().filter(({ mayBeEmpty }) => mayBeEmpty !== undefined);
    expect(reasons.map(({ panel, refId }) => `${panel} ${refId}`)).toEqual([
      'Cache hit rates A',
      'Cache hit rates B',
      'Cache hit rates C',
      'Draft acceptance rate A',
      'Mean acceptance length A',
      'Acceptance by position A',
      'Engines and targets up B',
      'Engines and targets up C',
      'Cache configuration A',
    ]);
    for (const { panel, mayBeEmpty } of reasons) {
      const { description } = panels.find(({ title }) => title === panel)!;
      expect(description).toContain(`**May be empty:** ${mayBeEmpty}`);
    }
  });

  it('ask for exemplars where a click is to open a trace, once per panel', () => {
    const withExemplars = targets.filter(({ target }) => target.exemplar === true);
    expect(withExemplars.map(({ panel, target }) => `${panel.title} ${target.refId}`)).toEqual([
      'Preemptions per request A',
      'Time to first token (TTFT) A',
      'Inter-token latency (ITL) A',
      'End-to-end latency (e2e) A',
    ]);
    expect(withExemplars.filter(({ target }) => !target.expr.includes('_bucket{'))).toEqual([]);
  });

  it('are all listed in the README', () => {
    const readme = readFileSync(README, 'utf8').replaceAll(/\s+/g, ' ');
    expect(panels.map(({ title }) => title).filter((title) => !readme.includes(title!))).toEqual([]);
  });

  it('say what cannot be read from the data', () => {
    const text = panels.find(({ type }) => type === 'text')!;
    const { content } = text.options as { content: string };
    for (const limit of [
      '0 and 1 share the lowest bucket',
      'diluted by the zeros',
      'when the request ends',
    ]) {
      expect(content).toContain(limit);
    }
  });
});

describe('the queries of the dashboard', () => {
  it('are those of the file, with a letter of their own in each panel', () => {
    expect(dashboardQueries().map(({ panel, refId, expr }) => [panel, refId, expr])).toEqual(
      targets.map(({ panel, target }) => [panel.title, target.refId, target.expr]),
    );
    const names = targets.map(({ panel, target }) => `${panel.title} ${target.refId}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(dashboardQueries())('$panel $refId parses, and uses the catalogue alone', ({ expr }) => {
    // `up` is Prometheus' own: whether it could scrape a target.
    expect(notInCatalogue(readQuery(expr), ['up'])).toEqual([]);
  });

  it.each(dashboardQueries())('$panel $refId filters each series by every variable it has', ({ expr }) => {
    const filters = { job: '$job', instance: '$instance', model_name: '$model', engine: '$engine' };
    for (const { metric, matchers } of readPromql(expr.replaceAll('$__rate_interval', '1m')).selectors) {
      const labels = exposedSeries.get(metric)?.labels ?? [];
      const expected = Object.entries(filters).filter(
        ([label]) => label === 'job' || label === 'instance' || labels.includes(label),
      );
      const filtering = matchers.filter(({ value }) => value.startsWith('$'));
      expect(filtering.map(({ label, operator, value }) => [label, operator, value])).toEqual(
        expected.map(([label, value]) => [label, '=~', value]),
      );
    }
  });

  it.each(dashboardQueries())(
    '$panel $refId reads counters by their rate over the rate interval, gauges as they are',
    ({ expr }) => {
      for (const { metric, range } of readPromql(expr.replaceAll('$__rate_interval', '1ms')).selectors) {
        const kind = exposedSeries.get(metric)?.kind;
        expect(range, metric).toBe(kind === 'counter' || kind === 'histogram' ? '1ms' : undefined);
      }
    },
  );

  it('never make a number of missing data, nor a quantile of anything but the buckets', () => {
    for (const { expr } of dashboardQueries()) {
      const { functions, groupings } = readQuery(expr);
      expect(functions, expr).not.toContain('vector');
      expect(functions, expr).not.toContain('scalar');
      if (functions.includes('histogram_quantile')) {
        expect(functions, expr).toEqual(['histogram_quantile', 'sum', 'rate']);
        expect(groupings.map(({ labels }) => labels.includes('le'))).toEqual([true]);
      }
    }
  });

  it('have no result, not NaN, where a ratio has no denominator', () => {
    const ratios = dashboardQueries().filter(({ expr }) => expr.includes(' / '));
    expect(ratios.length).toBeGreaterThan(10);
    for (const { expr } of ratios) expect(expr).toMatch(/ \/ (on \(\) group_left \(\) )?\(.* > 0\)$/);
  });

  it('read a share above a bound at a boundary of the histogram, `le` being 5.0 or 5', () => {
    const bounds = dashboardQueries().flatMap(({ expr }) =>
      readQuery(expr).selectors.flatMap(({ metric, matchers }) =>
        matchers
          .filter(({ label }) => label === 'le')
          .map(({ operator, value }) => ({ metric, operator, value })),
      ),
    );
    expect(bounds).toEqual(
      ['1|1[.]0', '3|3[.]0', '5|5[.]0', '10|10[.]0', '5|5[.]0'].map((value) => ({
        metric: 'vllm:request_num_preemptions_bucket',
        operator: '=~',
        value,
      })),
    );
  });
});

describe("vLLM's own example dashboard", () => {
  const OTHER = new URL('../../../shared/fixtures/vllm-example-grafana.json', import.meta.url);

  it('asks for nothing that is not exposed', ({ skip }) => {
    skip(
      !existsSync(OTHER),
      'no ../shared/fixtures/vllm-example-grafana.json beside this checkout: nothing was compared',
    );
    const exprs = [...exprsIn(JSON.parse(readFileSync(OTHER, 'utf8')))];
    expect(exprs.length).toBeGreaterThan(20);
    const faults = exprs.flatMap((expr) =>
      notInCatalogue(readPromql(substituteVariables(expr, { model_name: 'm', __rate_interval: '1m' }))),
    );
    expect(faults).toEqual([]);
  });
});

/** Every `expr` in a dashboard, wherever it stands. */
function* exprsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'expr' && typeof inner === 'string') yield inner;
    else yield* exprsIn(inner);
  }
}
