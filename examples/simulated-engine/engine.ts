import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import { EngineRequest, type RequestSpec } from './engine-request.ts';
import type { RequestProgress } from './request-progress.ts';
import { Scheduler } from './scheduler.ts';
import { DEFAULT_STEP_COST, type StepCost, stepSeconds } from './step-cost.ts';

/** Settings of a simulated engine. All but `kvBlocks` have defaults. */
export interface EngineOptions {
  /** The engine's index, as in its messages. Default 0. */
  readonly index?: number;
  /** Blocks in the KV cache. */
  readonly kvBlocks: number;
  /** Tokens per block. Default 16. */
  readonly blockSize?: number;
  /** Requests running at once. Default 256. */
  readonly maxNumSeqs?: number;
  /** Tokens computed in one step. Default 2048. */
  readonly maxNumBatchedTokens?: number;
  /**
   * Longest request, prompt and answer together, in tokens. Default, and limit: what the KV cache holds, for a
   * request that cannot fit even alone would be preempted for ever.
   */
  readonly maxModelLen?: number;
  /**
   * True admits a request only where its whole prompt fits beside what the running ones hold by then; false as
   * soon as its first chunk fits. Nothing is set aside in either case, so running out of blocks later is possible in
   * both and much likelier with false. vLLM calls this `scheduler_reserve_full_isl`. Default true, as there.
   */
  readonly reserveFullPrompt?: boolean;
  /** Default {@link DEFAULT_STEP_COST}. */
  readonly cost?: StepCost;
  /** What the engine's monotonic clock shows at the caller's time 0, in seconds. Default 0. */
  readonly clockOffset?: number;
}

/** One step of an engine. */
export interface EngineStep {
  /** When it ends, on the caller's clock; the next step can begin then. */
  readonly endsAt: number;
  /** What the engine sends then. */
  readonly message: EngineCoreOutputs;
}

/** Requests in an engine, those still in its inbox among the waiting ones. */
export interface EngineLoad {
  readonly waiting: number;
  readonly running: number;
}

/**
 * A vLLM engine core without the model: it schedules for real, takes the time that a model would take, and sends
 * what an engine sends. It has no timer of its own. Whoever drives it calls {@link step} at the time when a
 * step begins, hands over the message when the step has ended, and only then begins the next one.
 */
export class SimulatedEngine {
  readonly index: number;
  readonly maxModelLen: number;
  readonly #blockSize: number;
  readonly #scheduler: Scheduler;
  readonly #cost: StepCost;
  readonly #clockOffset: number;
  /** Like an engine process, this one looks at what has arrived only between two steps. */
  #inbox: ({ readonly add: EngineRequest } | { readonly abort: string })[] = [];
  #adds = 0;

  /** @throws TypeError where a number is not a positive integer, or a single request may exceed the cache. */
  constructor(options: EngineOptions) {
    const sizes = {
      kvBlocks: options.kvBlocks,
      blockSize: options.blockSize ?? 16,
      maxNumSeqs: options.maxNumSeqs ?? 256,
      maxNumBatchedTokens: options.maxNumBatchedTokens ?? 2048,
    };
    const capacity = sizes.kvBlocks * sizes.blockSize;
    const maxModelLen = options.maxModelLen ?? capacity;
    for (const [name, value] of Object.entries({ ...sizes, maxModelLen })) {
      if (!Number.isSafeInteger(value) || value < 1) {
        throw new TypeError(`${name} must be a positive integer, got ${value}`);
      }
    }
    if (maxModelLen > capacity) {
      throw new TypeError(
        `maxModelLen must be at most the ${capacity} tokens that the KV cache holds, got ${maxModelLen}`,
      );
    }
    this.index = options.index ?? 0;
    this.maxModelLen = maxModelLen;
    this.#blockSize = sizes.blockSize;
    this.#scheduler = new Scheduler({ ...sizes, reserveFullPrompt: options.reserveFullPrompt ?? true });
    this.#cost = options.cost ?? DEFAULT_STEP_COST;
    this.#clockOffset = options.clockOffset ?? 0;
  }

  get load(): EngineLoad {
    return { waiting: this.#scheduler.numWaiting + this.#adds, running: this.#scheduler.numRunning };
  }

  /** Whether a prompt of this many tokens leaves room for an answer. A frontend turns others away. */
  accepts(promptTokens: number): boolean {
    return promptTokens >= 1 && promptTokens < this.maxModelLen;
  }

  /**
   * Hands in a request; the next step takes it up.
   *
   * @returns Its progress, kept up to date.
   * @throws RangeError where the engine does not {@link accepts | accept} the prompt.
   */
  submit(spec: RequestSpec): Readonly<RequestProgress> {
    const request = new EngineRequest(spec, this.#blockSize, this.maxModelLen);
    if (!this.accepts(request.promptTokens)) {
      throw new RangeError(
        `a prompt of ${request.promptTokens} tokens does not fit into a model length of ${this.maxModelLen}`,
      );
    }
    this.#inbox.push({ add: request });
    this.#adds += 1;
    return request.progress;
  }

  /** Asks the engine to let a request go; the next step does it, and sends no more outputs for it. */
  abort(id: string): void {
    this.#inbox.push({ abort: id });
  }

  /**
   * Begins a step.
   *
   * @param now Seconds on the caller's clock.
   * @returns The step, or undefined where there is nothing to do.
   */
  step(now: number): EngineStep | undefined {
    const startedAt = this.#clockOffset + now;
    this.#readInbox(startedAt);
    if (!this.#scheduler.hasWork) return undefined;

    const batch = this.#scheduler.schedule(startedAt);
    const endsAt = now + stepSeconds(this.#cost, batch);
    const timestamp = this.#clockOffset + endsAt;
    const outputs = this.#scheduler.complete(batch, timestamp);
    const released = this.#scheduler.takeReleased();
    return {
      endsAt,
      message: {
        engine_index: this.index,
        outputs,
        scheduler_stats: this.#scheduler.takeStats(),
        timestamp,
        finished_requests: released.length === 0 ? null : released,
      },
    };
  }

  #readInbox(at: number): void {
    for (const item of this.#inbox) {
      if ('add' in item) this.#scheduler.add(item.add, at);
      else this.#scheduler.abort(item.abort);
    }
    this.#inbox = [];
    this.#adds = 0;
  }
}
