import { describe, expect, it } from 'vitest';
import { askingTimes, windowStarts } from './asking-times.ts';

const MOMENTS = { start: 375, end: 435, step: 60 };

describe('askingTimes', () => {
  it.each([
    'vllm:num_requests_running',
    'sum(rate(vllm:generation_tokens_total[5m]))',
    'avg_over_time((rate(vllm:generation_tokens_total[5m]))[3d:1m])',
  ])('are the moments for %s', (expr) => {
    expect(askingTimes(expr, MOMENTS)).toEqual(MOMENTS);
  });

  it.each(['max(deriv(vllm:num_requests_waiting[10m]))', 'avg_over_time(vllm:kv_cache_usage_perc[5m])'])(
    'are beside the moments for %s, whose window would begin at one',
    (expr) => {
      expect(askingTimes(expr, MOMENTS)).toEqual({ start: 380, end: 440, step: 60 });
    },
  );
});

describe('windowStarts', () => {
  it('are where the windows of rates and increases begin, and of nothing else', () => {
    const exprs = [
      'rate(vllm:generation_tokens_total[5m]) / increase(vllm:num_preemptions_total[1h])',
      'rate(vllm:generation_tokens_total[5m])',
      'deriv(vllm:num_requests_waiting[10m])',
      'vllm:num_requests_running',
    ];
    expect(windowStarts(exprs, MOMENTS)).toEqual(new Set([75, -3225, 135, -3165]));
  });
});
