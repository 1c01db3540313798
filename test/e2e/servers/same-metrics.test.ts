import { describe, expect, it } from 'vitest';
import { sameAnswers } from './same-answers.ts';
import { useServedRun } from './served-run.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const STEP = 15;
const END = 10 * MINUTE;

describe('a run that Prometheus scraped and VictoriaMetrics got over OTLP', () => {
  const run = useServedRun({
    scenario: ['--seed', '7', '--kv-blocks', '700', '--duration', String(END), '--rate', '6'],
    // Where windows longer than the run begin, and every step of it.
    moments: [
      END - 6 * HOUR,
      END - HOUR,
      ...Array.from({ length: END / STEP + 1 }, (_, step) => step * STEP),
    ],
  });
  const whole = { start: 0, end: END, step: STEP };
  const last = { start: END, end: END, step: STEP };

  it('is the same in both: every series with all its labels, every value at every moment', async () => {
    const answer = await sameAnswers(run(), '{__name__=~"vllm:.+"}', whole);
    const exposed = run().exposition.match(/^vllm:.*$/gm) ?? [];
    expect(answer).toHaveLength(exposed.length);
    expect(new Set(answer.map(({ values }) => values.length))).toEqual(new Set([END / STEP + 1]));
  });

  it('has the totals of the simulator’s log', async () => {
    const { records } = run();
    const total = async (metric: string): Promise<number | undefined> => {
      const [sum] = await sameAnswers(run(), `sum(${metric})`, last);
      return sum?.values[0]?.[1];
    };
    const ended = records.filter(({ endedAt }) => endedAt !== undefined && endedAt <= END);
    const preemptions = ended.map(({ reported }) => reported.preemptions);
    expect(Math.max(...preemptions)).toBeGreaterThan(3);
    expect(await total('vllm:request_num_preemptions_count')).toBe(ended.length);
    expect(await total('vllm:request_num_preemptions_sum')).toBe(preemptions.reduce((a, b) => a + b, 0));
    expect(await total('vllm:request_num_preemptions_bucket{le="3.0"}')).toBe(
      preemptions.filter((count) => count <= 3).length,
    );
    expect(await total('vllm:request_success_total')).toBe(ended.length);
  });

  it.each([
    ['a rate', 'sum by (engine) (rate(vllm:generation_tokens_total[1m]))', 2],
    ['an increase', 'increase(vllm:num_preemptions_total[5m])', 2],
    [
      'a quantile',
      'histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[1m])))',
      1,
    ],
    [
      'a share',
      '1 - sum(rate(vllm:request_num_preemptions_bucket{le="3.0"}[5m])) / sum(rate(vllm:request_num_preemptions_count[5m]))',
      1,
    ],
    [
      'a mean',
      'rate(vllm:e2e_request_latency_seconds_sum[1m]) / rate(vllm:e2e_request_latency_seconds_count[1m])',
      2,
    ],
    ['a gauge over time', 'max_over_time(vllm:num_requests_waiting[59s])', 2],
  ])('answers %s the same from both', async (_, promql, series) => {
    expect(await sameAnswers(run(), promql, { ...whole, start: 5 * MINUTE })).toHaveLength(series);
  });

  it.each(['1h', '6h'])('answers a rate over %s, longer than the run, the same from both', async (window) => {
    expect(await sameAnswers(run(), `rate(vllm:generation_tokens_total[${window}])`, last)).toHaveLength(2);
  });
});
