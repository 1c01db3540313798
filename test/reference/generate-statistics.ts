import type { SchedulerStats } from '../../src/index.ts';
import type { Draw } from './draw.ts';

/** Scheduler statistics with each optional part there or not, and here and there a number that can't be. */
export function generateStatistics(draw: Draw): SchedulerStats {
  const stats: SchedulerStats = {
    num_running_reqs: draw.whole(0, 40),
    num_waiting_reqs: draw.whole(0, 20),
    kv_cache_usage: draw.whole(0, 1024) / 1024,
    ...draw.maybe(0.8, () => ({ num_skipped_waiting_reqs: draw.whole(0, 5) })),
    ...draw.maybe(0.5, () => ({ step_counter: draw.whole(0, 1000), current_wave: 0 })),
    ...draw.maybe(0.6, () => ({ prefix_cache_stats: prefixCache(draw) })),
    ...draw.maybe(0.3, () => ({ connector_prefix_cache_stats: sharedCache(draw) })),
    ...draw.maybe(0.2, () => ({
      kv_cache_eviction_events: draw.list(draw.whole(0, 3), () => eviction(draw)),
    })),
    ...draw.maybe(0.3, () => ({ spec_decoding_stats: drafting(draw) })),
    ...draw.maybe(0.3, () => ({ perf_stats: performanceCounts(draw) })),
    ...draw.maybe(0.3, () => ({ kv_connector_stats: connectors(draw) })),
    ...draw.maybe(0.2, () => ({ num_kv_fetch_reqs_by_stage: kvFetches(draw) })),
    ...draw.maybe(0.1, () => ({ cudagraph_stats: null, iteration_details: null })),
  };
  if (draw.chance(0.95)) return stats;
  return draw.pick<SchedulerStats>([
    {},
    { ...stats, num_running_reqs: -1 },
    { ...stats, kv_cache_usage: Number.NaN },
    { ...stats, prefix_cache_stats: { queries: -5, hits: Number.NaN } },
    {
      ...stats,
      prefix_cache_stats: null,
      spec_decoding_stats: null,
      perf_stats: null,
      kv_connector_stats: null,
    },
  ]);
}

function prefixCache(draw: Draw) {
  return {
    reset: draw.chance(0.1),
    requests: draw.whole(0, 4),
    queries: draw.chance(0.1) ? 2n ** 54n + 1n : draw.whole(0, 5000),
    hits: draw.whole(0, 3000),
    ...draw.maybe(0.5, () => ({
      preempted_requests: draw.whole(0, 4),
      preempted_queries: draw.whole(0, 5000),
      preempted_hits: draw.whole(0, 3000),
    })),
  };
}

function sharedCache(draw: Draw) {
  const sources = ['host', 'p2p', 'disk', 'external_unspecified', 'device', 'moon'];
  const hits = (): readonly [string, number] => [draw.pick(sources), draw.whole(0, 500)];
  return {
    ...prefixCache(draw),
    ...draw.maybe(0.7, () => ({ hits_by_source: Object.fromEntries(draw.list(draw.whole(0, 3), hits)) })),
  };
}

function eviction(draw: Draw) {
  return {
    lifetime_seconds: draw.seconds(2000),
    idle_seconds: draw.chance(0.05) ? -1 : draw.seconds(500),
    reuse_gaps_seconds: draw.list(draw.whole(0, 3), () => draw.seconds(20)),
  };
}

function drafting(draw: Draw) {
  return {
    num_spec_tokens: draw.whole(1, 5),
    num_drafts: draw.whole(0, 50),
    num_draft_tokens: draw.whole(0, 200),
    num_accepted_tokens: draw.whole(0, 150),
    num_accepted_tokens_per_pos: draw.list(draw.whole(0, 5), () => draw.whole(0, 50)),
  };
}

function performanceCounts(draw: Draw) {
  const count = (): number | bigint =>
    draw.chance(0.5) ? 2n ** 60n + BigInt(draw.whole(0, 1000)) : draw.whole(0, 1_000_000);
  return { num_flops_per_gpu: count(), num_read_bytes_per_gpu: count(), num_write_bytes_per_gpu: count() };
}

function kvFetches(draw: Draw): Record<string, number> {
  const stages = ['waiting_to_start', 'in_progress', 'completed_waiting', 'on_fire'];
  return Object.fromEntries(draw.list(draw.whole(0, 4), () => [draw.pick(stages), draw.whole(0, 9)]));
}

function connectors(draw: Draw): Record<string, unknown> {
  const several: readonly (readonly [string, (draw: Draw) => Record<string, unknown>])[] = [
    ['NixlConnector', nixl],
    ['NixlPullConnector', nixl],
    ['MooncakeStoreConnector', mooncake],
    ['OffloadingConnector', offloading],
    ['ShelfConnector', unknownConnector],
  ];
  if (draw.chance(0.5)) return draw.pick(several)[1](draw);
  return Object.fromEntries(
    draw.list(draw.whole(0, 3), () => {
      const [name, payload] = draw.pick(several);
      return [name, draw.chance(0.5) ? payload(draw) : { data: payload(draw) }];
    }),
  );
}

function nixl(draw: Draw): Record<string, unknown> {
  const transfers = draw.whole(0, 3);
  return {
    transfer_duration: draw.list(transfers, () => draw.seconds(6)),
    post_duration: draw.list(transfers, () => (draw.chance(0.05) ? Number.NaN : draw.seconds(1))),
    bytes_transferred: draw.list(transfers, () => draw.whole(0, 10_000_000_000)),
    num_descriptors: draw.list(transfers, () => draw.whole(0, 60_000)),
    num_failed_transfers: draw.list(draw.whole(0, 2), () => draw.pick([1, 1, 2, -1])),
    num_failed_notifications: draw.list(draw.whole(0, 2), () => 1),
    num_kv_expired_reqs: draw.list(draw.whole(0, 2), () => draw.whole(0, 3)),
  };
}

function mooncake(draw: Draw): Record<string, unknown> {
  const record = (): Record<string, unknown> => ({
    duration_seconds: draw.seconds(5),
    num_keys: draw.whole(0, 100),
    num_bytes: draw.whole(0, 1_000_000),
    status: draw.pick(['ok', 'ok', 'error', 'partial_failure']),
    num_failed_keys: draw.whole(0, 5),
  });
  const operations = ['save_exists', 'save_put', 'load_get', 'lookup_exists'];
  return Object.fromEntries(
    draw.list(draw.whole(1, 4), () => [draw.pick(operations), draw.list(draw.whole(0, 3), record)]),
  );
}

function offloading(draw: Draw): Record<string, unknown> {
  return {
    load_bytes: draw.whole(0, 500_000_000),
    load_time: draw.seconds(3),
    load_size: draw.list(draw.whole(0, 3), () => draw.whole(0, 250_000_000)),
    store_bytes: draw.whole(0, 500_000_000),
    store_time: draw.seconds(3),
    store_size: draw.list(draw.whole(0, 3), () => draw.whole(0, 250_000_000)),
    stores_skipped: draw.whole(0, 3),
  };
}

function unknownConnector(draw: Draw): Record<string, unknown> {
  return draw.pick<Record<string, unknown>>([
    {},
    { shelves: [1, 2, 3] },
    { transfer_duration: [0.5], post_duration: [0.25] },
  ]);
}
