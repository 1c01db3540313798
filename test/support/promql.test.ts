import { describe, expect, it } from 'vitest';
import { notInCatalogue } from './exposed-series.ts';
import { readPromql, substituteVariables } from './promql.ts';

describe('readPromql', () => {
  it('lists selectors, groupings and functions', () => {
    const expr =
      'histogram_quantile(0.99, sum by (le) (rate(vllm:a_bucket{job=~"x|y", engine!="\\\\d"}[5m]))) / on (job) group_left (z) b';
    expect(readPromql(expr)).toEqual({
      selectors: [
        {
          metric: 'vllm:a_bucket',
          matchers: [
            { label: 'job', operator: '=~', value: 'x|y' },
            { label: 'engine', operator: '!=', value: String.raw`\d` },
          ],
          range: '5m',
        },
        { metric: 'b', matchers: [] },
      ],
      groupings: [
        { keyword: 'by', labels: ['le'], metrics: ['vllm:a_bucket'] },
        { keyword: 'on', labels: ['job'], metrics: ['vllm:a_bucket', 'b'] },
        { keyword: 'group_left', labels: ['z'], metrics: ['b'] },
      ],
      functions: ['histogram_quantile', 'sum', 'rate'],
    });
  });

  it.each(['sum(', 'rate(a[5m)', 'a{b="c}', 'a b', 'nosuchfunction(a)', 'a[$__rate_interval]', ''])(
    'throws for %j',
    (expr) => {
      expect(() => readPromql(expr)).toThrow(SyntaxError);
    },
  );

  it('throws for a selector by labels alone, whose metric nobody can check', () => {
    expect(() => readPromql('{job="x"}')).toThrow('a selector without a metric name: {job="x"}');
  });
});

describe('substituteVariables', () => {
  it('replaces every way to write a variable, and throws where one has no value', () => {
    const values = { engine: '.*', __rate_interval: '1m' };
    expect(substituteVariables('a{b=~"$engine",c=~"${engine:regex}"}[${__rate_interval}]', values)).toBe(
      'a{b=~".*",c=~".*"}[1m]',
    );
    expect(() => substituteVariables('a{b="$c"}', values)).toThrow('no value for $c in a{b="$c"}');
  });
});

describe('notInCatalogue', () => {
  it('knows the series of each kind and their labels', () => {
    const exprs = [
      'vllm:num_requests_running{engine="0",model_name="m",job="j",instance="i"}',
      'sum by (finished_reason) (vllm:request_success_total)',
      'sum by (le) (vllm:iteration_tokens_total_bucket)',
      'vllm:request_num_preemptions_sum / vllm:request_num_preemptions_count',
      'vllm:cache_config_info{block_size="16"}',
    ];
    expect(exprs.flatMap((expr) => notInCatalogue(readPromql(expr)))).toEqual([]);
  });

  it('says what is not exposed, unless it is known from elsewhere', () => {
    const reading = readPromql(
      'sum by (reason) (vllm:num_requests_running{source="x"}) + vllm:num_preemptions + vllm:request_success_count{le="1"} + up{a="b"}',
    );
    expect(notInCatalogue(reading, ['up'])).toEqual([
      'vllm:num_requests_running has no label source',
      'vllm:num_preemptions is not exposed',
      'vllm:request_success_count is not exposed',
      'vllm:num_requests_running has no label reason',
    ]);
  });
});
