import { describe, expect, it } from 'vitest';
import { familyName, type FamilyType } from '../../src/prometheus/family-name.ts';

describe('familyName', () => {
  it.each<[name: string, unit: string, type: FamilyType, exposed: string]>([
    ['vllm:request_num_preemptions', '', 'histogram', 'vllm:request_num_preemptions'],
    ['vllm:iteration_tokens_total', '', 'histogram', 'vllm:iteration_tokens_total'],
    ['vllm:num_preemptions', '', 'counter', 'vllm:num_preemptions_total'],
    ['vllm:kv_cache_usage_perc', '', 'gauge', 'vllm:kv_cache_usage_perc'],
    ['http.server.request.duration', 'seconds', 'histogram', 'http_server_request_duration_seconds'],
    ['nodejs.eventloop.delay_seconds', 'seconds', 'gauge', 'nodejs_eventloop_delay_seconds'],
    ['seconds', 'seconds', 'gauge', 'seconds'],
    ['milliseconds', 'seconds', 'gauge', 'milliseconds_seconds'],
    ['requests', '', 'counter', 'requests_total'],
    ['requests_total', '', 'counter', 'requests_total'],
    ['requests.total', '', 'counter', 'requests_total_total'],
    ['cpu_total', 'seconds', 'counter', 'cpu_seconds_total'],
    ['total', '', 'counter', 'total_total'],
    ['a..b--c__d', '', 'gauge', 'a_b_c_d'],
    ['trailing_', 'bytes', 'gauge', 'trailing_bytes'],
    ['9lives', '', 'gauge', '_9lives'],
    ['größe', '', 'gauge', 'gr_e'],
    ['', '', 'gauge', '_'],
  ])('exposes %j with unit %j as a %s named %s', (name, unit, type, exposed) => {
    expect(familyName(name, unit, type)).toBe(exposed);
  });
});
