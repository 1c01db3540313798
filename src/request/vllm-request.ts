import { context as contextApi, trace, type Context, type Span } from '@opentelemetry/api';
import type { FinishReason } from './finish-reason.ts';
import { withRequest } from './request-context.ts';
import type { RequestEvent } from './request-event.ts';
import type { RequestLifecycle } from './request-lifecycle.ts';
import type { EndOptions, RecordTokensOptions } from './request-options.ts';
import { streamWithin } from './request-stream.ts';

/**
 * A request on its way through the service. It ends once, by whichever comes first: {@link end}, its span's end, the
 * end of its {@link stream}, its AbortSignal, the engine's own message, or the end of the instrumentation; one that
 * the application dropped without any of these is recorded as an abort when it is garbage-collected, or, where the
 * engine's messages are observed, when none has come for it in ten minutes since.
 *
 * None of its methods throws because of what it records; what can't be recorded is counted in `status().dropped`.
 */
export class VllmRequest {
  readonly #lifecycle: RequestLifecycle;
  readonly #choices: readonly VllmRequest[];
  readonly #base: Context;
  #context: Context | undefined;

  /**
   * Requests are made by `engine.startRequest` and `vllm.adopt`.
   *
   * @param base - The Context that `context` is made from.
   * @param choices - The choices of a request with several; none for one that is its own only choice.
   * @internal
   */
  constructor(lifecycle: RequestLifecycle, base: Context, choices: readonly VllmRequest[] = NONE) {
    this.#lifecycle = lifecycle;
    this.#base = base;
    this.#choices = choices;
    // A request with several choices is lost when all of them are.
    if (choices.length === 0) lostRequests.register(this, lifecycle);
  }

  /** The id under which the engine knows the request. */
  get requestId(): string {
    return this.#lifecycle.id;
  }

  /** The index of the engine it runs on. */
  get engineIndex(): number {
    return this.#lifecycle.host.index;
  }

  /** The Context that carries this request and its span: pass it on where code does not run inside {@link run}. */
  get context(): Context {
    if (this.#context === undefined) {
      const { span } = this.#lifecycle;
      const base = span === undefined ? this.#base : trace.setSpan(this.#base, span);
      this.#context = withRequest(base, this);
    }
    return this.#context;
  }

  /** The request's span. Undefined only for an adopted span that was garbage-collected. */
  get span(): Span | undefined {
    return this.#lifecycle.span;
  }

  /** Preemptions so far; of all choices together, where there are several. */
  get numPreemptions(): number {
    return this.#lifecycle.numPreemptions;
  }

  /** Whether the request's sample has been taken. */
  get ended(): boolean {
    return this.#lifecycle.ended;
  }

  /**
   * The engine requests behind this one. With n > 1 they are n requests with the ids `0_ID`, `1_ID`, …, each with
   * its own tokens, events and end; this one then ends with the last of them. Otherwise it is this request alone.
   */
  get choices(): readonly VllmRequest[] {
    return this.#choices.length === 0 ? [this] : this.#choices;
  }

  /** Runs `fn` with the request in its Context, async work that starts there included, and returns its result. */
  run<T>(fn: () => T): T {
    return contextApi.with(this.context, fn);
  }

  /**
   * Records what the scheduler did with the request.
   *
   * @param timestamp - Engine-monotonic seconds. Default: this process's monotonic clock.
   * @returns Whether it was recorded: not after the end, and not for a request with several choices.
   */
  recordEvent(event: RequestEvent, timestamp?: number): boolean {
    return this.#lifecycle.recordEvent(event, timestamp);
  }

  /** The same as `recordEvent('preempted', timestamp)`. */
  recordPreemption(timestamp?: number): boolean {
    return this.#lifecycle.recordEvent('preempted', timestamp);
  }

  /**
   * Records an output of an engine whose messages are not given to `vllm.observe`.
   *
   * @param count - How many tokens the output brought, 0 or more.
   * @returns Whether it was recorded: not after the end, and not for a request with several choices.
   */
  recordTokens(count: number, options?: RecordTokensOptions): boolean {
    return this.#lifecycle.recordTokens(count, options ?? {});
  }

  /**
   * The same items, produced inside the request's Context while the consumer keeps its own. The request ends with
   * the stream: `stop` when it is exhausted, `abort` when the consumer leaves early or the source was aborted,
   * `error` when the source fails, unless it had ended by then.
   *
   * @throws TypeError when `source` is not async iterable, and whatever opening it throws.
   */
  stream<T>(source: AsyncIterable<T>): AsyncIterableIterator<T> {
    return streamWithin(this, source);
  }

  /**
   * Ends the request and, unless it was adopted, its span; takes its sample. Only the first end counts.
   *
   * @param reason - Default `stop`.
   * @returns Whether this was the first.
   */
  end(reason: FinishReason = 'stop', options?: EndOptions): boolean {
    return this.#lifecycle.end(reason, options ?? {});
  }

  /** Leaving a `using` block without {@link end} is an abort. */
  [Symbol.dispose](): void {
    this.end('abort');
  }
}

const NONE: readonly VllmRequest[] = [];

/** Requests that the application can't end any more; most have ended by then, and then nothing is left to do. */
const lostRequests = new FinalizationRegistry<RequestLifecycle>((lifecycle) => lifecycle.lost());
