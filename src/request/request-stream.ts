import type { FinishReason } from './finish-reason.ts';
import type { VllmRequest } from './vllm-request.ts';

/**
 * `source` produced inside `request`'s Context, ending the request with it. An async generator runs its body in the
 * Context of whoever calls `next()`, so every call goes through the request's.
 */
export function streamWithin<T>(request: VllmRequest, source: AsyncIterable<T>): AsyncIterableIterator<T> {
  if (typeof (source as Partial<AsyncIterable<T>> | undefined)?.[Symbol.asyncIterator] !== 'function') {
    throw new TypeError(`request.stream() takes an async iterable; got ${typeof source}`);
  }
  return new RequestStream(request, source);
}

class RequestStream<T> implements AsyncIterableIterator<T> {
  readonly #request: VllmRequest;
  readonly #iterator: AsyncIterator<T>;

  constructor(request: VllmRequest, source: AsyncIterable<T>) {
    this.#request = request;
    try {
      this.#iterator = request.run(() => source[Symbol.asyncIterator]());
    } catch (error) {
      request.end(reasonOf(error), { error });
      throw error;
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    return this.#step(() => this.#iterator.next());
  }

  /** The consumer leaves early: `break`, an exception in its loop, or a cancelled web stream. */
  return(value?: unknown): Promise<IteratorResult<T>> {
    return this.#leave(value, () => this.#iterator.return?.(value));
  }

  throw(error?: unknown): Promise<IteratorResult<T>> {
    return this.#step(async () => {
      if (this.#iterator.throw !== undefined) return this.#iterator.throw(error);
      await this.#iterator.return?.();
      throw error;
    });
  }

  async #step(call: () => Promise<IteratorResult<T>>): Promise<IteratorResult<T>> {
    try {
      const result = await this.#request.run(call);
      if (result.done) this.#request.end('stop');
      return result;
    } catch (error) {
      this.#request.end(reasonOf(error), { error });
      throw error;
    }
  }

  async #leave(
    value: unknown,
    call: () => Promise<IteratorResult<T>> | undefined,
  ): Promise<IteratorResult<T>> {
    // Before the source's own clean-up runs: the consumer is gone from now on, whatever comes of that.
    this.#request.end('abort');
    return (await this.#request.run(call)) ?? { done: true, value };
  }
}

/** An abort by what fetch, streams and AbortSignal reject with when somebody cancelled. */
function reasonOf(error: unknown): FinishReason {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return name === 'AbortError' || code === 'ABORT_ERR' ? 'abort' : 'error';
}
