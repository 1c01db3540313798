import type { EngineCoreOutput, PrefixCacheStats, SchedulerStats } from 'opentelemetry-instrumentation-vllm';
import type { EngineRequest } from './engine-request.ts';
import { KvCache } from './kv-cache.ts';

/** Limits of a scheduler, in vLLM's terms. */
export interface SchedulerLimits {
  /** Blocks in the KV cache. */
  readonly kvBlocks: number;
  /** Tokens per block. */
  readonly blockSize: number;
  /** Requests running at once. */
  readonly maxNumSeqs: number;
  /** Tokens computed in one step, over all requests. */
  readonly maxNumBatchedTokens: number;
  /** Whether a request is admitted only where its whole prompt fits, or as soon as its first chunk does. */
  readonly reserveFullPrompt: boolean;
}

/** A request's share in a step. */
export interface ScheduledPart {
  readonly request: EngineRequest;
  /** Tokens to compute: 1 in decode, a chunk in prefill. */
  readonly tokens: number;
}

type LookupCounts = Record<Exclude<keyof PrefixCacheStats, 'reset' | 'hits_by_source'>, number>;

const noLookups = (): LookupCounts => ({
  requests: 0,
  queries: 0,
  hits: 0,
  preempted_requests: 0,
  preempted_queries: 0,
  preempted_hits: 0,
});

/**
 * First come, first served, with continuous batching, chunked prefill and preemption by recomputation.
 *
 * Each step computes for the running requests first, the oldest before the others, then admits waiting ones as far
 * as tokens, blocks and places last. A running request that finds no block takes those of the youngest one, which
 * may be itself; the victim goes back to the front of the queue. The oldest running request therefore always
 * moves on: given that any single request fits into the cache, none waits for ever.
 */
export class Scheduler {
  readonly cache: KvCache;
  readonly #limits: SchedulerLimits;
  readonly #waiting: EngineRequest[] = [];
  /** In the order of admission. */
  #running: EngineRequest[] = [];
  #released: string[] = [];
  #lookups = noLookups();
  #steps = 0;

  constructor(limits: SchedulerLimits) {
    this.#limits = limits;
    this.cache = new KvCache(limits.kvBlocks, limits.blockSize);
  }

  get numWaiting(): number {
    return this.#waiting.length;
  }

  get numRunning(): number {
    return this.#running.length;
  }

  /** Whether a step would do anything, be it only to tell which requests were let go. */
  get hasWork(): boolean {
    return this.#running.length + this.#waiting.length + this.#released.length > 0;
  }

  /** Puts a request at the end of the queue. */
  add(request: EngineRequest, at: number): void {
    request.queue(at);
    this.#waiting.push(request);
  }

  /** Lets a request go, wherever it stands. An unknown id, of a request that has just ended say, changes nothing. */
  abort(id: string): void {
    for (const queue of [this.#running, this.#waiting]) {
      const index = queue.findIndex((request) => request.id === id);
      if (index === -1) continue;
      for (const request of queue.splice(index, 1)) this.#release(request);
    }
  }

  /** Decides what the next step computes, and takes the blocks for it. Times are engine seconds. */
  schedule(at: number): readonly ScheduledPart[] {
    this.#steps += 1;
    const batch: ScheduledPart[] = [];
    const preempted = this.#scheduleRunning(batch, at);
    // What a victim has just given up would go straight to the next one in the queue.
    if (!preempted) this.#scheduleWaiting(batch, at);
    return batch;
  }

  /** Takes in what a step computed; `at` is its end. Returns one output per request that got a token. */
  complete(batch: readonly ScheduledPart[], at: number): readonly EngineCoreOutput[] {
    const outputs: EngineCoreOutput[] = [];
    const ended = new Set<EngineRequest>();
    for (const { request, tokens } of batch) {
      const output = request.advance(tokens, at);
      if (output === undefined) continue;
      outputs.push(output);
      if (output.finish_reason !== null) ended.add(request);
    }
    if (ended.size > 0) this.#running = this.#running.filter((request) => !ended.has(request));
    for (const request of ended) this.#release(request);
    return outputs;
  }

  /** The ids of the requests that ended or were aborted since the last call. */
  takeReleased(): readonly string[] {
    const released = this.#released;
    this.#released = [];
    return released;
  }

  /** The state now, and the prefix cache look-ups since the last call. */
  takeStats(): SchedulerStats {
    const lookups = this.#lookups;
    this.#lookups = noLookups();
    return {
      num_running_reqs: this.#running.length,
      num_waiting_reqs: this.#waiting.length,
      num_skipped_waiting_reqs: 0,
      step_counter: this.#steps,
      kv_cache_usage: this.cache.usage,
      prefix_cache_stats: { reset: false, ...lookups },
    };
  }

  #scheduleRunning(batch: ScheduledPart[], at: number): boolean {
    let preempted = false;
    let budget = this.#limits.maxNumBatchedTokens;
    // The list loses victims from its end meanwhile; those never are in the batch already, for they are younger.
    for (let index = 0; index < this.#running.length && budget > 0; index += 1) {
      const request = this.#running[index];
      if (request === undefined) break;
      const tokens = Math.min(request.pendingTokens, budget);
      while (!this.#grow(request, tokens)) {
        preempted = true;
        const victim = this.#preemptYoungest(at);
        if (victim === request || victim === undefined) return preempted;
      }
      batch.push({ request, tokens });
      budget -= tokens;
    }
    return preempted;
  }

  #scheduleWaiting(batch: ScheduledPart[], at: number): void {
    let budget = this.#limits.maxNumBatchedTokens - batch.reduce((sum, part) => sum + part.tokens, 0);
    while (budget > 0 && this.#running.length < this.#limits.maxNumSeqs) {
      const request = this.#waiting[0];
      if (request === undefined) return;
      const { blocks, sequence } = request;
      const prefix = this.cache.findPrefix(sequence);
      const cachedTokens = prefix.length * this.#limits.blockSize;
      const tokens = Math.min(sequence.length - cachedTokens, budget);
      const needed = this.#limits.reserveFullPrompt ? sequence.length : cachedTokens + tokens;
      if (!this.cache.admit(blocks, prefix, needed)) return;

      this.#waiting.shift();
      this.#running.push(request);
      this.#countLookup(request, cachedTokens);
      request.schedule(at, cachedTokens);
      this.#grow(request, tokens);
      batch.push({ request, tokens });
      budget -= tokens;
    }
  }

  #grow(request: EngineRequest, tokens: number): boolean {
    const { blocks, sequence, computedTokens } = request;
    return this.cache.grow(blocks, sequence, computedTokens, computedTokens + tokens);
  }

  #preemptYoungest(at: number): EngineRequest | undefined {
    const victim = this.#running.pop();
    if (victim === undefined) return undefined;
    this.cache.release(victim.blocks);
    victim.preempt(at);
    this.#waiting.unshift(victim);
    return victim;
  }

  #release(request: EngineRequest): void {
    this.cache.release(request.blocks);
    this.#released.push(request.id);
  }

  #countLookup({ progress, sequence }: EngineRequest, cachedTokens: number): void {
    const prefix = progress.preemptions > 0 ? 'preempted_' : '';
    this.#lookups[`${prefix}requests`] += 1;
    this.#lookups[`${prefix}queries`] += sequence.length;
    this.#lookups[`${prefix}hits`] += cachedTokens;
  }
}
