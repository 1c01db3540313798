import { describe, expect, it } from 'vitest';
import { Frontend } from '../../examples/demo/frontend.ts';
import type { RequestRecord } from '../../examples/simulated-engine/request-log.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { requestMetrics } from '../../src/metrics/catalogue/requests.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';
import { scenarioOf } from './simulated-run.ts';

const EPOCH = 1_700_000_000;
const ENGINES = 2;

/** The histograms that get one sample per ended request; without n > 1 those of the user's request are among them. */
const PER_REQUEST = requestMetrics
  .filter(({ kind }) => kind === 'histogram')
  .map(({ name }) => name)
  .filter((name) => name !== 'vllm:request_params_max_tokens');

describe('a simulated run with preemptions and aborts', () => {
  it('keeps the invariants at every point of it, and ends with what the simulator’s log says', async () => {
    const { vllm, read, dropped } = startService({ modelName: 'test-model' });
    const scenario = await scenarioOf('--seed', '3', '--kv-blocks', '600', '--abort-share', '0.1');
    const frontend = new Frontend(vllm, EPOCH);
    const events = [...scenario.simulation];
    for (const [position, event] of events.entries()) {
      frontend.handle(event);
      if (position % 1500 === 0) checkInvariants(await read(), vllm.status().requestsInFlight);
    }
    const reading = await read();
    checkInvariants(reading, 0);
    expect(vllm.status().requestsInFlight).toBe(0);

    const { records } = scenario.simulation.log;
    expect(records.some(({ finishReason }) => finishReason === 'abort')).toBe(true);
    expect(records.some(({ reported }) => reported.preemptions > 3)).toBe(true);
    for (let engine = 0; engine < ENGINES; engine += 1) {
      checkAgainstLog(
        reading,
        engine,
        records.filter((record) => record.engine === engine),
      );
    }
    // The engine sends what it had computed for a request before it hears of the abort.
    expect(Object.keys(dropped())).toEqual(['afterEnd']);
  });
});

function checkInvariants(reading: Reading, inFlight: number): void {
  const total = (name: string): number => sum(reading, name, (value) => value);
  const count = (name: string): number => sum(reading, name, (_, samples) => samples);
  const ended = total('vllm:request_success');
  expect(PER_REQUEST.map((name) => [name, count(name)])).toEqual(PER_REQUEST.map((name) => [name, ended]));
  if (inFlight === 0) {
    expect(total('vllm:num_preemptions')).toBe(total('vllm:request_num_preemptions'));
  } else {
    expect(total('vllm:num_preemptions')).toBeGreaterThanOrEqual(total('vllm:request_num_preemptions'));
  }
  const timesToFirstToken = count('vllm:time_to_first_token_seconds');
  expect(count('vllm:inter_token_latency_seconds')).toBe(total('vllm:generation_tokens') - timesToFirstToken);
  const computed = sum(reading, 'vllm:prompt_tokens_by_source', (value, _, { source }) =>
    source === 'local_compute' ? value : 0,
  );
  expect(total('vllm:iteration_tokens_total')).toBe(computed + total('vllm:generation_tokens'));
  expect(total('vllm:prompt_tokens_by_source')).toBe(total('vllm:prompt_tokens'));
  expect(total('vllm:num_requests_waiting_by_reason')).toBe(total('vllm:num_requests_waiting'));
}

function checkAgainstLog(reading: Reading, engine: number, records: readonly RequestRecord[]): void {
  const labels = { engine: String(engine) };
  const preemptions = records.map(({ reported }) => reported.preemptions);
  const bounds = [0, 1, 2, 3, 4, 5, 10, 20, Infinity];
  const inBucket = (bucket: number): number =>
    preemptions.filter((count) => (bucket === 0 || count > bounds[bucket]!) && count <= bounds[bucket + 1]!)
      .length;
  expect(reading.histogram('vllm:request_num_preemptions', labels)).toEqual({
    count: records.length,
    sum: totalOf(preemptions),
    buckets: [0, 1, 2, 3, 4, 5, 6, 7].map(inBucket),
  });
  expect(reading.value('vllm:generation_tokens', labels)).toBe(
    totalOf(records.map(({ reported }) => reported.generatedTokens)),
  );
  const reasons = ['stop', 'length', 'abort', 'error', 'repetition'];
  expect(
    reasons.map((reason) => reading.value('vllm:request_success', { ...labels, finished_reason: reason })),
  ).toEqual(reasons.map((reason) => records.filter(({ finishReason }) => finishReason === reason).length));
  const seconds = (name: string): number => reading.histogram(name, labels).sum;
  const sumOf = (of: (record: RequestRecord) => number): number => totalOf(records.map(of));
  expect(seconds('vllm:e2e_request_latency_seconds')).toBeCloseTo(
    sumOf(({ arrival, endedAt }) => endedAt! - arrival),
    3,
  );
  expect(seconds('vllm:time_to_first_token_seconds')).toBeCloseTo(
    sumOf(({ arrival, firstReceivedAt }) => (firstReceivedAt ?? arrival) - arrival),
    3,
  );
  expect(seconds('vllm:request_queue_time_seconds')).toBeCloseTo(
    sumOf(({ reported }) => (reported.scheduledAt ?? 0) - (reported.queuedAt ?? 0)),
    3,
  );
  expect(seconds('vllm:request_decode_time_seconds')).toBeCloseTo(
    sumOf(({ reported }) => (reported.lastTokenAt ?? 0) - (reported.firstTokenAt ?? 0)),
    3,
  );
  expect(seconds('vllm:request_inference_time_seconds')).toBeCloseTo(
    sumOf(({ reported }) => (reported.lastTokenAt ?? 0) - (reported.scheduledAt ?? 0)),
    3,
  );
}

/** A figure added up over the series of a metric: a value or sum, a sample count, by labels. */
function sum(
  reading: Reading,
  name: string,
  figure: (value: number, samples: number, labels: Record<string, unknown>) => number,
): number {
  expect(catalogue.map((metric) => metric.name as string)).toContain(name);
  return totalOf(
    reading
      .points(name)
      .map(({ value, attributes }) =>
        typeof value === 'number'
          ? figure(value, Number.NaN, attributes)
          : figure(value.sum ?? Number.NaN, value.count, attributes),
      ),
  );
}

function totalOf(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
