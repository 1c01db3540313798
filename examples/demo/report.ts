import type { RequestLog, RequestRecord } from '../simulated-engine/request-log.ts';
import { formatBar } from './bar.ts';
import { type Sample, sumOf } from './exposition.ts';
import { formatTable } from './format-table.ts';
import { type Histogram, quantileBound, readHistogram } from './histogram.ts';
import type { Scenario } from './scenario.ts';

const BAR_WIDTH = 40;
const WORST = 5;
const FINISH_REASONS = ['stop', 'length', 'abort', 'error', 'repetition'];

/** What is going to happen. */
export function formatOpening({ requests, options, kvBlocks }: Scenario): string {
  const engines = formatCountOf(options.engines, 'simulated engine');
  return `${formatCountOf(requests.length, 'request')} to ${engines}, each with ${formatCount(kvBlocks)} KV blocks of 16 tokens`;
}

/** What a scrape shows, and below it what only the simulator's log can tell. */
export function formatReport(
  samples: readonly Sample[],
  { records, rejected }: Pick<RequestLog, 'records' | 'rejected'>,
): string {
  const untold = records.reduce(
    (sum, { actual, reported }) => sum + actual.preemptions - reported.preemptions,
    0,
  );
  const ends = [formatReasons(samples)];
  if (rejected > 0) ends.push(`Turned away   ${formatCountOf(rejected, 'prompt')} too long for the KV cache`);
  if (untold > 0) {
    ends.push(
      `Not told   ${formatCountOf(untold, 'preemption')} of clients that left before the next output`,
    );
  }
  return [
    formatHistogram(readHistogram(samples, 'vllm:request_num_preemptions')),
    formatWorst(records),
    ends.join('\n'),
  ].join('\n\n');
}

/** Whether the scrape is what the simulator counted. */
export function formatVerdict(differences: readonly string[], samples: readonly Sample[]): string {
  if (differences.length > 0) {
    return `The scrape and the simulator's own log DISAGREE:\n${differences.join('\n')}`;
  }
  const { count, sum } = readHistogram(samples, 'vllm:request_num_preemptions');
  return `The scrape and the simulator's own log agree: ${formatCountOf(count, 'request')}, ${formatCountOf(sum, 'preemption')}`;
}

/** The preemption histogram as bars, one row per bucket, with shares and quantiles. */
export function formatHistogram(histogram: Histogram): string {
  const { buckets, count: total, sum } = histogram;
  const largest = Math.max(...buckets.map(({ count }) => count), 1);
  const rows = buckets.map(({ bound, count }, index) => {
    const label = formatRange(buckets[index - 1]?.bound ?? -1, bound).padStart(7);
    const bar = formatBar(count / largest, BAR_WIDTH).padEnd(BAR_WIDTH);
    const share = ((count / Math.max(total, 1)) * 100).toFixed(1).padStart(5);
    return `${label}  ${bar}  ${formatCount(count).padStart(6)}  ${share} %`;
  });
  const mean = total === 0 ? '–' : (sum / total).toFixed(2);
  const quantiles = [0.5, 0.9, 0.95, 0.99].map((q) => `p${q * 100} ${formatQuantile(histogram, q)}`);
  return [
    'Preemptions per request (vllm:request_num_preemptions)',
    '',
    ...rows,
    '',
    `   mean ${mean}   ${quantiles.join('   ')}`,
  ].join('\n');
}

/** The requests that were preempted most often; of those with equally many, the ones that took longest. */
export function formatWorst(records: readonly RequestRecord[]): string {
  const worst = records
    .filter(({ reported }) => reported.preemptions > 0)
    .sort((a, b) => b.reported.preemptions - a.reported.preemptions || latency(b) - latency(a))
    .slice(0, WORST);
  if (worst.length === 0) return 'No request was preempted';
  const rows = worst.map((record) => [
    record.id,
    String(record.engine),
    String(record.reported.preemptions),
    formatCount(record.promptTokens),
    formatCount(record.reported.generatedTokens),
    `${latency(record).toFixed(1)} s`,
    record.finishReason ?? '–',
  ]);
  const columns = ['request', 'engine', 'preemptions', 'prompt', 'generated', 'end to end', 'ended by'];
  return `Worst requests\n\n${formatTable([columns, ...rows])}`;
}

/** How many requests ended for which reason. */
export function formatReasons(samples: readonly Sample[]): string {
  const counts = FINISH_REASONS.map((reason) => ({
    reason,
    count: sumOf(samples, 'vllm:request_success_total', { finished_reason: reason }),
  }));
  const parts = counts.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  return `Ended by   ${parts.map(({ reason, count }) => `${reason} ${formatCount(count)}`).join('   ')}`;
}

function formatRange(previous: number, bound: number): string {
  if (bound === Infinity) return `> ${previous}`;
  return previous + 1 === bound ? String(bound) : `${previous + 1}–${bound}`;
}

function formatQuantile(histogram: Histogram, q: number): string {
  const bound = quantileBound(histogram, q);
  if (bound === undefined) return '–';
  return bound === Infinity ? `> ${histogram.buckets.at(-2)?.bound ?? 0}` : `≤ ${bound}`;
}

/** With commas between the thousands. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count and what was counted, in the plural where it is not one. */
export function formatCountOf(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`;
}

function latency({ arrival, endedAt = arrival }: RequestRecord): number {
  return endedAt - arrival;
}
