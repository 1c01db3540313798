import type { Durations } from '../engine/durations.ts';
import type { EngineInterval } from './engine-interval.ts';
import { formatCount, formatFixed } from './format-fixed.ts';
import type { LineContent, StatsAttributes } from './stats-line.ts';

/** vLLM's "MB" is two to the power of twenty bytes. */
const MEBIBYTE = 2 ** 20;

/**
 * The line on the NIXL connector's transfers, in the words of vLLM's Python frontend, which leaves out the failures
 * that end this one. None where nothing was transferred and nothing failed.
 */
export function kvTransferLine(interval: EngineInterval): LineContent | undefined {
  const { nixl } = interval.observed;
  if (nixl === undefined) return undefined;
  const { transfers, posts, failedTransfers, failedNotifications, kvExpiredRequests } = nixl;
  if (transfers.count + failedTransfers + failedNotifications + kvExpiredRequests === 0) return undefined;
  const megabytes = nixl.bytes / MEBIBYTE;
  const measures: readonly Measure[] = [
    ['Avg xfer time (ms)', 'avg_transfer_millis', mean(transfers) * 1e3, 3],
    ['P90 xfer time (ms)', 'p90_transfer_millis', percentile90(transfers) * 1e3, 3],
    ['Avg post time (ms)', 'avg_post_millis', mean(posts) * 1e3, 3],
    ['P90 post time (ms)', 'p90_post_millis', percentile90(posts) * 1e3, 3],
    ['Avg MB per transfer', 'mebibytes_per_transfer', ratio(megabytes, transfers.count), 3],
    ['Throughput (MB/s)', 'mebibytes_per_second', ratio(megabytes, transfers.totalSeconds), 3],
    ['Avg number of descriptors', 'descriptors_per_transfer', ratio(nixl.descriptors, transfers.count), 1],
  ];
  const failures: readonly Failure[] = [
    ['Num failed transfers', 'failed_transfers', failedTransfers],
    ['Num failed notifications', 'failed_notifications', failedNotifications],
    ['Num KV expired reqs', 'kv_expired_requests', kvExpiredRequests],
  ];

  let text = `KV Transfer metrics: Num successful transfers=${formatCount(transfers.count)}`;
  for (const [label, , value, digits] of measures) {
    text += `, ${label}=${transfers.count > 0 ? rounded(value, digits) : '0'}`;
  }
  for (const [label, , count] of failures) if (count > 0) text += `, ${label}=${formatCount(count)}`;
  return {
    kind: 'kv_transfer',
    text,
    attributes: () => attributesOf(transfers.count, measures, failures),
  };
}

type Measure = readonly [label: string, name: string, value: number, digits: number];
type Failure = readonly [label: string, name: string, count: number];

function attributesOf(
  transfers: number,
  measures: readonly Measure[],
  failures: readonly Failure[],
): StatsAttributes {
  const attributes: StatsAttributes = { 'vllm.stats.kv_transfer.transfers': transfers };
  for (const [, name, value] of measures) {
    if (transfers > 0 && Number.isFinite(value)) attributes[`vllm.stats.kv_transfer.${name}`] = value;
  }
  for (const [, name, count] of failures) attributes[`vllm.stats.kv_transfer.${name}`] = count;
  return attributes;
}

function mean({ count, totalSeconds }: Durations): number {
  return ratio(totalSeconds, count);
}

/** Linear between the two nearest ranks, NumPy's default. */
function percentile90({ sample }: Durations): number {
  const sorted = Float64Array.from(sample).sort();
  const rank = (sorted.length - 1) * 0.9;
  const below = sorted[Math.floor(rank)] ?? 0;
  const above = sorted[Math.ceil(rank)] ?? 0;
  return below + (above - below) * (rank - Math.floor(rank));
}

/** 0 where there is nothing to divide. */
function ratio(amount: number, by: number): number {
  return amount === 0 ? 0 : amount / by;
}

/** As Python prints a rounded float: without zeros at the end, but always with a digit after the point. */
function rounded(value: number, digits: number): string {
  return formatFixed(value, digits).replace(/(\.\d+?)0+$/, '$1');
}
