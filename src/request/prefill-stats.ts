/** How a prompt was prefilled, in tokens; sent with the first output of a newly scheduled prefill. */
export interface PrefillStats {
  /** Prompt length: computed, locally cached and externally cached tokens together. */
  readonly num_prompt_tokens?: number | undefined;
  /** Prompt tokens the engine computed. */
  readonly num_computed_tokens?: number | undefined;
  /** Prompt tokens that needed no computation: local and external hits together. */
  readonly num_cached_tokens?: number | undefined;
  /** Prompt tokens found in the engine's own prefix cache. */
  readonly num_local_cached_tokens?: number | undefined;
  /** Prompt tokens fetched through a KV connector. */
  readonly num_external_cached_tokens?: number | undefined;
  /** Prompt tokens written to a cache for later reuse; not a metric. */
  readonly num_cache_creation_tokens?: number | undefined;
}
