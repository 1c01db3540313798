import { describe, expect, it } from 'vitest';
import { parseExposition } from '../../../examples/demo/exposition.ts';
import { formatHistogram, formatReport, formatVerdict, formatWorst } from '../../../examples/demo/report.ts';
import { createRecord } from './create-record.ts';

const bucket = (bound: number, count: number) => ({ le: String(bound), bound, count });

const SAMPLES = parseExposition(`
vllm:request_num_preemptions_bucket{engine="0",le="1.0"} 3
vllm:request_num_preemptions_bucket{engine="0",le="2.0"} 4
vllm:request_num_preemptions_bucket{engine="0",le="+Inf"} 4
vllm:request_num_preemptions_count{engine="0"} 4
vllm:request_num_preemptions_sum{engine="0"} 3
vllm:request_success_total{engine="0",finished_reason="stop"} 1
vllm:request_success_total{engine="0",finished_reason="length"} 0
vllm:request_success_total{engine="0",finished_reason="abort"} 3
`);

describe('formatHistogram', () => {
  it('draws one row per bucket, with count, share and quantiles', () => {
    const buckets = [bucket(1, 1600), bucket(2, 300), bucket(5, 99), bucket(Infinity, 1)];
    expect(formatHistogram({ buckets, count: 2000, sum: 1500 })).toBe(
      [
        'Preemptions per request (vllm:request_num_preemptions)',
        '',
        '    0–1  ████████████████████████████████████████   1,600   80.0 %',
        '      2  ███████▌                                     300   15.0 %',
        '    3–5  ██▌                                           99    5.0 %',
        '    > 5  ▏                                              1    0.1 %',
        '',
        '   mean 0.75   p50 ≤ 1   p90 ≤ 2   p95 ≤ 2   p99 ≤ 5',
      ].join('\n'),
    );
  });

  it('says of a quantile beyond the last bound that it is more', () => {
    const text = formatHistogram({ buckets: [bucket(5, 1), bucket(Infinity, 9)], count: 10, sum: 99 });
    expect(text).toContain('p50 > 5   p90 > 5');
  });

  it('has nothing to say of no requests', () => {
    expect(
      formatHistogram({ buckets: [bucket(1, 0), bucket(Infinity, 0)], count: 0, sum: 0 })
        .split('\n')
        .slice(2),
    ).toEqual([
      '    0–1                                                 0    0.0 %',
      '    > 1                                                 0    0.0 %',
      '',
      '   mean –   p50 –   p90 –   p95 –   p99 –',
    ]);
  });
});

describe('formatWorst', () => {
  it('lists the five most preempted requests, the slower first of two alike', () => {
    const records = [
      createRecord({ id: 'never', finishReason: 'stop', preemptions: 0, latency: 99 }),
      createRecord({ id: 'once', finishReason: 'stop', preemptions: 1 }),
      createRecord({ id: 'fast', finishReason: 'stop', preemptions: 2, latency: 3.04, engine: 1 }),
      createRecord({
        id: 'slow',
        finishReason: 'abort',
        preemptions: 2,
        latency: 30.06,
        promptTokens: 12_345,
      }),
      createRecord({ id: 'worst', finishReason: 'length', preemptions: 11, generatedTokens: 1000 }),
      createRecord({ id: 'p3', finishReason: 'stop', preemptions: 3 }),
      createRecord({ id: 'p4', finishReason: 'stop', preemptions: 4 }),
    ];
    expect(formatWorst(records)).toBe(
      [
        'Worst requests',
        '',
        '   request   engine   preemptions   prompt   generated   end to end   ended by',
        '   worst          0            11       10       1,000        1.0 s     length',
        '   p4             0             4       10           1        1.0 s       stop',
        '   p3             0             3       10           1        1.0 s       stop',
        '   slow           0             2   12,345           1       30.1 s      abort',
        '   fast           1             2       10           1        3.0 s       stop',
      ].join('\n'),
    );
  });

  it('says so where no request was preempted', () => {
    expect(formatWorst([createRecord({ id: 'a', finishReason: 'stop' })])).toBe('No request was preempted');
  });
});

describe('formatReport', () => {
  const records = [createRecord({ id: 'a', finishReason: 'abort', untold: 1 })];
  const lastLines = (rejected: number, untold: number): string[] => {
    const log = { records: untold === 0 ? [] : records, rejected };
    return formatReport(SAMPLES, log).split('\n\n').at(-1)!.split('\n');
  };

  it('tells how requests ended, the commonest way first', () => {
    expect(lastLines(0, 0)).toEqual(['Ended by   abort 3   stop 1']);
  });

  it('tells what only the simulator knows', () => {
    expect(lastLines(2, 1)).toEqual([
      'Ended by   abort 3   stop 1',
      'Turned away   2 prompts too long for the KV cache',
      'Not told   1 preemption of clients that left before the next output',
    ]);
  });
});

describe('formatVerdict', () => {
  it('says that both agree, and on what', () => {
    expect(formatVerdict([], SAMPLES)).toBe(
      "The scrape and the simulator's own log agree: 4 requests, 3 preemptions",
    );
  });

  it('lists the differences', () => {
    expect(formatVerdict(['a is 1', 'b is 2'], SAMPLES)).toBe(
      "The scrape and the simulator's own log DISAGREE:\na is 1\nb is 2",
    );
  });
});
