import type { SchedulerStats, SpecDecodingStats } from '../../src/index.ts';
import { takeConnectorStatistics } from './connector-rules.ts';
import type { Model, ModelEngine } from './model.ts';
import { add, isCount, keyOf, observe, removeNamed, set, type AllSeries, type Labels } from './series.ts';

/** A step's statistics: gauges are set, counters take what was added since the last ones. */
export function takeStatistics(model: Model, engine: ModelEngine, stats: SchedulerStats): void {
  engine.heard = true;
  setLoad(model, engine.labels, stats);
  setKvFetches(model, engine.labels, stats);
  countPrefixCaches(model, engine.labels, stats);
  countDrafts(model, engine.labels, stats);
  countPerformance(model, engine.labels, stats);
  observeEvictions(model, engine.labels, stats);
  takeConnectorStatistics(model, engine.labels, stats.kv_connector_stats);
}

/** What waits for capacity and what was set aside wait both. A field that is missing is 0. */
export function setLoad({ series }: Model, labels: Labels, stats: SchedulerStats): void {
  const gauge = (name: string, value: number, more: Labels = {}): void => {
    if (isCount(value)) set(series, name, { ...labels, ...more }, value);
  };
  const capacity = stats.num_waiting_reqs ?? 0;
  const deferred = stats.num_skipped_waiting_reqs ?? 0;
  gauge('vllm:num_requests_running', stats.num_running_reqs ?? 0);
  gauge('vllm:num_requests_waiting', capacity + deferred);
  gauge('vllm:num_requests_waiting_by_reason', capacity, { reason: 'capacity' });
  gauge('vllm:num_requests_waiting_by_reason', deferred, { reason: 'deferred' });
  gauge('vllm:kv_cache_usage_perc', stats.kv_cache_usage ?? 0);
}

/** From the first statistics that tell them on, a stage that is not told has none. */
function setKvFetches({ series }: Model, labels: Labels, stats: SchedulerStats): void {
  const name = 'vllm:num_requests_kv_fetch_by_stage';
  const stages = stats.num_kv_fetch_reqs_by_stage;
  const known = series.has(keyOf(name, { ...labels, stage: 'in_progress' }));
  if (!stages && !known) return;
  for (const stage of ['waiting_to_start', 'in_progress', 'completed_waiting']) {
    set(series, name, { ...labels, stage }, stages?.[stage] ?? 0);
  }
}

/** Look-ups of resumed requests, which have fields of their own, stay out. */
function countPrefixCaches({ series }: Model, labels: Labels, stats: SchedulerStats): void {
  const own = stats.prefix_cache_stats;
  const shared = stats.connector_prefix_cache_stats;
  const bySource = 'vllm:prompt_tokens_cached_by_source';
  if (own) {
    add(series, 'vllm:prefix_cache_queries', labels, own.queries);
    add(series, 'vllm:prefix_cache_hits', labels, own.hits);
    add(series, bySource, { ...labels, source: 'device' }, own.hits);
  }
  if (shared) {
    add(series, 'vllm:external_prefix_cache_queries', labels, shared.queries);
    add(series, 'vllm:external_prefix_cache_hits', labels, shared.hits);
    for (const source of ['device', 'host', 'p2p', 'disk', 'external_unspecified']) {
      add(series, bySource, { ...labels, source }, shared.hits_by_source?.[source]);
    }
  }
}

/** A diffusion model's drafts are denoising steps. */
function countDrafts({ series, options }: Model, labels: Labels, stats: SchedulerStats): void {
  const drafting = stats.spec_decoding_stats;
  if (!drafting) return;
  const [drafts, proposed, accepted] = options.isDiffusion
    ? (['denoising_steps', 'canvas_positions', 'committed_tokens'] as const)
    : (['drafts', 'draft_tokens', 'accepted_tokens'] as const);
  const family = options.isDiffusion ? 'vllm:diffusion_num_' : 'vllm:spec_decode_num_';
  add(series, family + drafts, labels, drafting.num_drafts);
  add(series, family + proposed, labels, drafting.num_draft_tokens);
  add(series, family + accepted, labels, drafting.num_accepted_tokens);
  if (options.isDiffusion) return;
  countAcceptedByPosition(series, labels, drafting);
}

/** As many positions as a draft has tokens, all from the first statistics on. */
function countAcceptedByPosition(series: AllSeries, labels: Labels, drafting: SpecDecodingStats): void {
  const accepted = drafting.num_accepted_tokens_per_pos ?? [];
  const positions = Math.max(Number(drafting.num_spec_tokens ?? 0), accepted.length);
  for (let position = 0; position < positions; position += 1) {
    const name = 'vllm:spec_decode_num_accepted_tokens_per_pos';
    add(series, name, { ...labels, position: String(position) }, accepted[position] ?? 0);
  }
}

function countPerformance({ series }: Model, labels: Labels, stats: SchedulerStats): void {
  if (!stats.perf_stats) return;
  add(series, 'vllm:estimated_flops_per_gpu', labels, stats.perf_stats.num_flops_per_gpu);
  add(series, 'vllm:estimated_read_bytes_per_gpu', labels, stats.perf_stats.num_read_bytes_per_gpu);
  add(series, 'vllm:estimated_write_bytes_per_gpu', labels, stats.perf_stats.num_write_bytes_per_gpu);
}

function observeEvictions({ series }: Model, labels: Labels, stats: SchedulerStats): void {
  for (const event of stats.kv_cache_eviction_events ?? []) {
    observe(series, 'vllm:kv_block_lifetime_seconds', labels, event.lifetime_seconds);
    observe(series, 'vllm:kv_block_idle_before_evict_seconds', labels, event.idle_seconds);
    for (const gap of event.reuse_gaps_seconds ?? []) {
      observe(series, 'vllm:kv_block_reuse_gap_seconds', labels, gap);
    }
  }
}

/** One of the three is 1; where the engine is only paused, none is. */
export function setSleepState({ series }: Model, { labels }: ModelEngine, state: string): void {
  for (const sleep_state of ['awake', 'weights_offloaded', 'discard_all']) {
    set(series, 'vllm:engine_sleep_state', { ...labels, sleep_state }, state === sleep_state ? 1 : 0);
  }
}

/** The configuration in labels, as Python writes values; the engine has one, the latest. */
export function takeCacheConfig(
  { series }: Model,
  { labels }: ModelEngine,
  config: Readonly<Record<string, unknown>>,
): void {
  const engine = labels['engine']!;
  removeNamed(series, 'vllm:cache_config_info', { engine });
  const texts = Object.entries(config).map(([name, value]) => [name, pythonText(value)]);
  set(series, 'vllm:cache_config_info', { ...(Object.fromEntries(texts) as Labels), engine }, 1);
}

function pythonText(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  return String(value);
}

/**
 * An engine whose requests have all gone may take no further step, and would stand at its last numbers for ever. So
 * they read 0 at a collection that finds nothing in flight on an engine that had something, and nothing heard of it, nor
 * in flight, since a collection five or more seconds before.
 */
export function quietEngines(model: Model): void {
  for (const engine of model.engines.values()) {
    if (engine.heard || engine.live.size > 0) engine.quietSince = model.monotonic;
    engine.heard = false;
    const quiet = engine.quietSince !== undefined && model.monotonic - engine.quietSince >= 5;
    if (!quiet || !engine.served) continue;
    setLoad(model, engine.labels, {});
    setKvFetches(model, engine.labels, {});
  }
}
