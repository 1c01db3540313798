import { describe, expect, it } from 'vitest';
import { alertRules, ruleQueries } from '../support/alert-rules.ts';
import { exposedSeries, notInCatalogue } from '../support/exposed-series.ts';
import { readPromql } from '../support/promql.ts';

const alerts = alertRules.filter(({ kind }) => kind === 'alert');
const records = alertRules.filter(({ kind }) => kind === 'record');

/** What does not come from this package: the file's own series, and what Prometheus says of its scrapes. */
const others = [...records.map(({ name }) => name), 'up'];

describe('docs/alerts/vllm-rules.yml', () => {
  it('has no two rules of one name', () => {
    expect(new Set(alertRules.map(({ name }) => name)).size).toBe(alertRules.length);
  });

  it.each(alertRules)('$name takes only what the catalogue has, or what another rule records', ({ expr }) => {
    expect(notInCatalogue(readPromql(expr), others)).toEqual([]);
  });

  it.each(records)('$name is level:metric:operation, and its level says its labels', ({ name, expr }) => {
    const labels = {
      engine: ['job', 'instance', 'model_name', 'engine'],
      model: ['job', 'model_name'],
      model_finished_reason: ['job', 'model_name', 'finished_reason'],
    };
    const [, level] = /^(engine|model|model_finished_reason):vllm_\w+:[a-z]+\w*$/.exec(name) ?? [];
    const { groupings } = readPromql(expr);
    for (const { labels: by } of groupings.filter(({ keyword }) => keyword === 'by')) {
      expect(by).toEqual(labels[level as keyof typeof labels]);
    }
  });

  it.each(alertRules.filter(({ expr }) => expr.includes('le=')))(
    '$name takes a bucket that exists, however its boundary is written',
    ({ expr }) => {
      const buckets = readPromql(expr).selectors.filter(({ metric }) => metric.endsWith('_bucket'));
      expect(buckets).not.toEqual([]);
      for (const { metric, matchers } of buckets) {
        const histogram = exposedSeries.get(metric)!;
        const boundaries = histogram.kind === 'histogram' ? histogram.boundaries : [];
        const { operator, value } = matchers.find(({ label }) => label === 'le')!;
        const spellings =
          operator === '=~' ? value.split('|').map((one) => one.replace('\\.', '.')) : [value];
        const boundary = Number(spellings[0]);
        expect(boundaries).toContain(boundary);
        expect(spellings).toEqual(
          Number.isInteger(boundary) ? [`${boundary}`, `${boundary}.0`] : [`${boundary}`],
        );
      }
    },
  );

  it.each(alerts)('$name says how bad it is, of whom and what, and what to do', ({ labels, annotations }) => {
    expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook']);
    expect(['page', 'ticket']).toContain(labels['severity']);
    expect(annotations['summary']! + annotations['description']!).toMatch(/\{\{.*\$(labels|value)/);
    for (const metric of annotations['runbook']!.match(/vllm:\w+/g) ?? []) {
      const names = [metric, `${metric}_total`, `${metric}_bucket`];
      expect(names.some((name) => exposedSeries.has(name))).toBe(true);
    }
  });
});

describe('ruleQueries', () => {
  it('writes recorded series out, down to the catalogue', () => {
    for (const { expr } of ruleQueries) expect(notInCatalogue(readPromql(expr), ['up'])).toEqual([]);
    expect(
      ruleQueries.find(({ name }) => name === 'model:vllm_inter_token_latency_seconds:burnrate3d'),
    ).toEqual({
      name: 'model:vllm_inter_token_latency_seconds:burnrate3d',
      expr: `avg_over_time((sum by (job, model_name) (rate(vllm:inter_token_latency_seconds_count[5m]))
  - sum by (job, model_name) (rate(vllm:inter_token_latency_seconds_bucket{le="0.2"}[5m])))[3d:1m])
  / (avg_over_time((0.01 * sum by (job, model_name) (rate(vllm:inter_token_latency_seconds_count[5m])))[3d:1m]) > 0)`,
    });
  });

  it('takes of alerts what they compare, where no rule records it', () => {
    const alertQueries = ruleQueries.filter(({ name }) => name.startsWith('Vllm'));
    expect(alertQueries).toEqual([
      {
        name: 'VllmPreemptionsRising',
        expr: '2 * (sum by (job, instance, model_name, engine) (rate(vllm:num_preemptions_total[1h])))',
      },
      { name: 'VllmTargetDown', expr: 'up', mayBeEmpty: 'only what is scraped has it' },
      { name: 'VllmTargetDown', expr: 'present_over_time(vllm:num_requests_running[1d])' },
      {
        name: 'VllmModelVanished',
        expr: 'group by (job, model_name) (present_over_time(vllm:num_requests_running[1d]))',
      },
      { name: 'VllmModelVanished', expr: 'group by (job, model_name) (vllm:num_requests_running)' },
      {
        name: 'VllmMetricsAbsent',
        expr: 'absent_over_time(vllm:num_requests_running[1d])',
        mayBeEmpty: 'there is a result only where the metrics are missing',
      },
    ]);
  });
});
