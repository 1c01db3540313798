import {
  addDurations,
  mergeDurations,
  newDurations,
  type Durations,
  type DurationsTotal,
} from './durations.ts';
import type { NixlStats } from './nixl-recorder.ts';
import { amountOf, listOf, type WireList } from './statistics.ts';

/** What the NIXL connector transferred in an interval. */
export interface NixlInterval {
  readonly transfers: Durations;
  readonly posts: Durations;
  readonly bytes: number;
  readonly descriptors: number;
  readonly failedTransfers: number;
  readonly failedNotifications: number;
  readonly kvExpiredRequests: number;
}

/** {@link NixlInterval} while it is gathered. */
export interface NixlTotal extends NixlInterval {
  readonly transfers: DurationsTotal;
  readonly posts: DurationsTotal;
  bytes: number;
  descriptors: number;
  failedTransfers: number;
  failedNotifications: number;
  kvExpiredRequests: number;
}

export function newNixl(): NixlTotal {
  return {
    transfers: newDurations(),
    posts: newDurations(),
    bytes: 0,
    descriptors: 0,
    failedTransfers: 0,
    failedNotifications: 0,
    kvExpiredRequests: 0,
  };
}

/** Adds statistics off the wire, without what can't be right. */
export function addNixl(total: NixlTotal, stats: Partial<NixlStats>): void {
  addDurations(total.transfers, listOf(stats.transfer_duration));
  addDurations(total.posts, listOf(stats.post_duration));
  total.bytes += sumOf(stats.bytes_transferred);
  total.descriptors += sumOf(stats.num_descriptors);
  total.failedTransfers += sumOf(stats.num_failed_transfers);
  total.failedNotifications += sumOf(stats.num_failed_notifications);
  total.kvExpiredRequests += sumOf(stats.num_kv_expired_reqs);
}

/** Adds what was gathered elsewhere, which stays as it is. */
export function mergeNixl(total: NixlTotal, other: NixlInterval): void {
  mergeDurations(total.transfers, other.transfers);
  mergeDurations(total.posts, other.posts);
  total.bytes += other.bytes;
  total.descriptors += other.descriptors;
  total.failedTransfers += other.failedTransfers;
  total.failedNotifications += other.failedNotifications;
  total.kvExpiredRequests += other.kvExpiredRequests;
}

function sumOf(counts: WireList): number {
  let sum = 0;
  for (const count of listOf(counts)) sum += amountOf(count);
  return sum;
}
