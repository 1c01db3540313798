import type { PrefillStats } from '../../src/index.ts';
import type { Model, ModelEngine, ModelRequest, Prefill } from './model.ts';
import { add, isCount } from './series.ts';

/** @returns The computed tokens. */
export function takePrefill(
  model: Model,
  engine: ModelEngine,
  request: ModelRequest,
  stats: PrefillStats,
): number {
  const { series } = model;
  const { labels } = engine;
  const prefill = prefillOf(request, stats);
  add(series, 'vllm:prompt_tokens', labels, prefill.prompt);
  add(series, 'vllm:prompt_tokens_cached', labels, prefill.cached);
  const bySource = 'vllm:prompt_tokens_by_source';
  add(series, bySource, { ...labels, source: 'local_compute' }, prefill.computed);
  add(series, bySource, { ...labels, source: 'local_cache_hit' }, prefill.local);
  add(series, bySource, { ...labels, source: 'external_kv_transfer' }, prefill.external);
  return prefill.computed;
}

/**
 * Missing counts and -1 are 0, except that old engines send what was cached alone: how long the prompt is, the request
 * knows, and the rest of it was computed. So the sources add up to the prompt.
 */
export function prefillOf(request: ModelRequest, stats: PrefillStats): Prefill {
  const cached = count(stats.num_cached_tokens);
  const prompt = count(stats.num_prompt_tokens ?? promptOf(request));
  return {
    prompt,
    computed: count(stats.num_computed_tokens ?? Math.max(prompt - cached, 0)),
    cached,
    local: count(stats.num_local_cached_tokens),
    external: count(stats.num_external_cached_tokens),
  };
}

/** The prompt length that the frontend knows; else what the engine first said. */
export function promptOf({ promptTokens, prefill }: ModelRequest): number {
  return promptTokens ?? prefill?.prompt ?? 0;
}

function count(value: unknown): number {
  return isCount(value) ? Number(value) : 0;
}
