import type { EngineCoreEvent, EngineCoreOutput } from 'opentelemetry-instrumentation-vllm';
import type { BlockTable } from './kv-cache.ts';
import type { RequestProgress } from './request-progress.ts';
import { contentOf, TokenSequence, type TextSegment } from './token-sequence.ts';

/** vLLM's ints for the events of a request. */
export const EVENT = { queued: 1, scheduled: 2, preempted: 3 } as const;

/** vLLM's ints for the finish reasons that an engine gives of its own accord. */
export const FINISH = { stop: 0, length: 1 } as const;

/** What an engine is asked to do. */
export interface RequestSpec {
  readonly id: string;
  readonly prompt: readonly TextSegment[];
  /** Length of the answer, in tokens, at which the model stops by itself. At least 1. */
  readonly outputTokens: number;
  /** Tokens after which the engine ends the answer with reason length. Default: as many as fit. */
  readonly maxTokens?: number | undefined;
}

/** One request inside an engine: its text so far, its blocks, and what its next output has to tell. */
export class EngineRequest {
  readonly id: string;
  readonly promptTokens: number;
  readonly sequence: TokenSequence;
  readonly blocks: BlockTable = [];
  readonly progress: RequestProgress = { generatedTokens: 0, preemptions: 0 };
  readonly #outputTokens: number;
  readonly #maxTokens: number;
  readonly #maxModelLen: number;
  #computedTokens = 0;
  #events: EngineCoreEvent[] = [];
  #prefillStats: EngineCoreOutput['prefill_stats'];

  /**
   * @param spec What is asked.
   * @param blockSize Tokens per block of the engine's cache.
   * @param maxModelLen Tokens, prompt and answer together, at which the engine ends the answer with reason length.
   */
  constructor(spec: RequestSpec, blockSize: number, maxModelLen: number) {
    this.id = spec.id;
    this.sequence = new TokenSequence(spec.prompt, contentOf(`answer to ${spec.id}`), blockSize);
    this.promptTokens = this.sequence.length;
    this.#outputTokens = spec.outputTokens;
    this.#maxTokens = spec.maxTokens ?? Infinity;
    this.#maxModelLen = maxModelLen;
  }

  /** Tokens whose keys and values are in the cache. */
  get computedTokens(): number {
    return this.#computedTokens;
  }

  /** Tokens still to compute before the next one can be sampled: 1 in decode, more in prefill. */
  get pendingTokens(): number {
    return this.sequence.length - this.#computedTokens;
  }

  queue(at: number): void {
    this.progress.queuedAt ??= at;
    this.#events.push({ type: EVENT.queued, timestamp: at });
  }

  /** Moves the request from the waiting to the running ones, its first tokens found in the cache. */
  schedule(at: number, cachedTokens: number): void {
    this.#computedTokens = cachedTokens;
    this.#events.push({ type: EVENT.scheduled, timestamp: at });
    if (this.progress.scheduledAt !== undefined) return;
    this.progress.scheduledAt = at;
    this.progress.cachedTokens = cachedTokens;
    this.#prefillStats = {
      num_prompt_tokens: this.promptTokens,
      num_computed_tokens: this.promptTokens - cachedTokens,
      num_cached_tokens: cachedTokens,
      num_local_cached_tokens: cachedTokens,
      num_external_cached_tokens: 0,
    };
  }

  /** Forgets everything computed. The generated tokens stay, and are computed again as if they were prompt. */
  preempt(at: number): void {
    this.#computedTokens = 0;
    this.progress.preemptions += 1;
    this.#events.push({ type: EVENT.preempted, timestamp: at });
  }

  /**
   * Takes in the result of a step.
   *
   * @param tokens How many tokens the step computed.
   * @param at When the step ended, in engine seconds.
   * @returns The output, or undefined while the prompt is not computed to its end.
   */
  advance(tokens: number, at: number): EngineCoreOutput | undefined {
    this.#computedTokens += tokens;
    if (this.pendingTokens > 0) return undefined;

    this.sequence.append();
    this.progress.generatedTokens += 1;
    this.progress.firstTokenAt ??= at;
    this.progress.lastTokenAt = at;
    const output = {
      request_id: this.id,
      new_token_ids: [madeUpTokenId(this.sequence.length)],
      finish_reason: this.#finishReason(),
      events: this.#events.length === 0 ? null : this.#events,
      prefill_stats: this.#prefillStats ?? null,
    };
    this.#events = [];
    this.#prefillStats = undefined;
    return output;
  }

  #finishReason(): number | null {
    const { generatedTokens } = this.progress;
    if (generatedTokens >= this.#outputTokens) return FINISH.stop;
    if (generatedTokens >= this.#maxTokens || this.sequence.length >= this.#maxModelLen) return FINISH.length;
    return null;
  }
}

/** Metrics only count token ids; on the wire they should look like some. */
function madeUpTokenId(position: number): number {
  return Math.imul(position, 0x9e3779b1) >>> 17;
}
