import assert from 'node:assert/strict';
import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics';
import { PER_ENGINE_REQUEST } from '../support/per-request.ts';
import type { Reading } from '../support/reading.ts';

/** The numbers of a series that only grow: a counter's value; a histogram's count, sum and buckets. */
type Grown = readonly number[];

/**
 * What must hold of every collection, whatever was observed: nothing is negative or no number, what only grows has not
 * shrunk since the collection before, no series is gone, and every ended request has its sample in every histogram.
 */
export class Growth {
  #last: ReadonlyMap<string, Grown> = new Map();

  /** @throws AssertionError naming the series. */
  check(reading: Reading): void {
    const grown = new Map<string, Grown>();
    for (const metric of reading.metrics) {
      for (const point of metric.dataPoints as readonly DataPoint<number | Histogram>[]) {
        const series = nameOf(metric, point);
        const numbers = numbersOf(point.value);
        for (const number of numbers) assert(number >= 0 && number < Infinity, `${series} holds ${number}`);
        if (onlyGrows(metric, point.value)) grown.set(series, numbers);
      }
    }
    for (const [series, before] of this.#last) {
      const now = grown.get(series);
      assert(now !== undefined, `${series} is gone`);
      assert(
        now.every((number, at) => number >= before[at]!),
        `${series} went from ${String(before)} to ${String(now)}`,
      );
    }
    this.#last = grown;
    checkEnds(grown, reading);
  }
}

/** One sample of every ended request in each histogram; a request that nobody saw arrive has no end-to-end latency. */
function checkEnds(grown: ReadonlyMap<string, Grown>, reading: Reading): void {
  if (!reading.names.includes('vllm:request_success')) return;
  const ended = new Map<unknown, number>();
  for (const { attributes, value } of reading.points('vllm:request_success')) {
    const { engine } = attributes;
    ended.set(engine, (ended.get(engine) ?? 0) + (value as number));
  }
  for (const name of PER_ENGINE_REQUEST) {
    for (const point of reading.points(name)) {
      const series = nameOf(reading.metric(name), point);
      const [count = Number.NaN] = grown.get(series) ?? [];
      const requests = ended.get(point.attributes['engine']) ?? 0;
      const may = name === 'vllm:e2e_request_latency_seconds' ? count <= requests : count === requests;
      assert(may, `${series} has ${count} samples of ${requests} requests that ended`);
    }
  }
}

function nameOf({ descriptor }: MetricData, { attributes }: DataPoint<unknown>): string {
  return `${descriptor.name}${JSON.stringify(attributes)}`;
}

function numbersOf(value: number | Histogram): Grown {
  return typeof value === 'number' ? [value] : [value.count, value.sum ?? 0, ...value.buckets.counts];
}

function onlyGrows(metric: MetricData, value: number | Histogram): boolean {
  return typeof value !== 'number' || ('isMonotonic' in metric && metric.isMonotonic);
}
