import type { RequestRecord } from '../simulated-engine/request-log.ts';
import { type Sample, sumOf } from './exposition.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';

/**
 * Compares a scrape with the simulator's own log, engine by engine.
 *
 * @returns One line per series that differs; none where both agree.
 */
export function crossCheck(samples: readonly Sample[], records: readonly RequestRecord[]): readonly string[] {
  const differences: string[] = [];
  const compare = (name: string, labels: Readonly<Record<string, string>>, expected: number): void => {
    const scraped = sumOf(samples, name, labels);
    if (scraped === expected) return;
    const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    differences.push(`${name}{${pairs.join(',')}} is ${scraped}, the simulator counted ${expected}`);
  };
  for (const engine of new Set(records.map((record) => record.engine))) {
    const ended = records.filter((record) => record.engine === engine && record.endedAt !== undefined);
    const preemptions = ended.map(({ reported }) => reported.preemptions);
    const labels = { engine: String(engine) };
    for (const le of bounds(samples)) {
      const bound = Number(le.replace('Inf', 'Infinity'));
      compare(
        `${PREEMPTIONS}_bucket`,
        { ...labels, le },
        preemptions.filter((count) => count <= bound).length,
      );
    }
    compare(`${PREEMPTIONS}_count`, labels, ended.length);
    compare(`${PREEMPTIONS}_sum`, labels, total(preemptions));
    compare('vllm:num_preemptions_total', labels, total(preemptions));
    compare(
      'vllm:generation_tokens_total',
      labels,
      total(ended.map(({ reported }) => reported.generatedTokens)),
    );
    for (const reason of ['stop', 'length', 'abort']) {
      const count = ended.filter(({ finishReason }) => finishReason === reason).length;
      compare('vllm:request_success_total', { ...labels, finished_reason: reason }, count);
    }
  }
  return differences;
}

function bounds(samples: readonly Sample[]): ReadonlySet<string> {
  const buckets = samples.filter(({ name }) => name === `${PREEMPTIONS}_bucket`);
  return new Set(buckets.map(({ labels }) => labels.get('le') ?? ''));
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
