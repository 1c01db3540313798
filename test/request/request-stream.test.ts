import { context, createContextKey, ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { getRequest, recordPreemption } from '../../src/request/request-context.ts';
import { collectUntil } from '../support/garbage.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number += 1) {
    await Promise.resolve();
    yield number;
  }
}

/** An iterable that tells what was called on its iterator, and can only do what it is given. */
function scripted(iterator: Partial<AsyncIterator<number>>): {
  source: AsyncIterable<number>;
  calls: string[];
} {
  const calls: string[] = [];
  const watched = Object.fromEntries(
    Object.entries(iterator).map(([name, method]) => [
      name,
      (...call: []) => {
        calls.push(name);
        return (method as (...given: []) => unknown).apply(iterator, call);
      },
    ]),
  );
  return {
    source: { [Symbol.asyncIterator]: () => watched as unknown as AsyncIterator<number> },
    calls,
  };
}

async function drain<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** The name and code of what fetch, streams and AbortSignal reject with when somebody cancelled. */
const ABORTS: readonly [string, unknown][] = [
  ['a DOMException named AbortError', new DOMException('aborted', 'AbortError')],
  ['an Error named AbortError', Object.assign(new Error('aborted'), { name: 'AbortError' })],
  ['an Error with the code ABORT_ERR', Object.assign(new Error('aborted'), { code: 'ABORT_ERR' })],
];

describe('a stream', () => {
  it('hands over the same items, and stops the request when it is exhausted', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest();
    const items: number[] = [];
    for await (const item of request.stream(numbers(3))) {
      expect(request.ended).toBe(false);
      items.push(item);
    }
    expect(items).toEqual([1, 2, 3]);
    expect(request.ended).toBe(true);
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('that is empty stops the request', async () => {
    const { engine, read } = startService();
    expect(await drain(engine.startRequest().stream(numbers(0)))).toEqual([]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('left by break aborts the request, and lets the source clean up', async () => {
    const { engine, read } = startService();
    let cleaned = false;
    async function* source(): AsyncGenerator<number> {
      try {
        yield* numbers(10);
      } finally {
        cleaned = true;
      }
    }
    for await (const item of engine.startRequest().stream(source())) if (item === 2) break;
    expect(cleaned).toBe(true);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('left by an exception in the loop aborts the request', async () => {
    const { engine, read } = startService();
    const loop = async (): Promise<void> => {
      for await (const item of engine.startRequest().stream(numbers(10))) {
        throw new Error(`the consumer failed at ${item}`);
      }
    };
    await expect(loop()).rejects.toThrow('the consumer failed at 1');
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('whose source fails makes an error of the request, and the consumer sees it', async () => {
    const { engine, traced, read } = startService();
    const failure = new RangeError('the engine failed');
    async function* source(): AsyncGenerator<number> {
      yield 1;
      throw failure;
    }
    await expect(drain(engine.startRequest().stream(source()))).rejects.toBe(failure);
    expect(endings(await read())).toEqual({ error: 1 });
    expect(traced.span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the engine failed' });
  });

  it.each(ABORTS)('whose source was aborted aborts the request: %s', async (_, failure) => {
    const { engine, traced, read } = startService();
    const { source } = scripted({ next: () => Promise.reject(failure) });
    await expect(drain(engine.startRequest().stream(source))).rejects.toBe(failure);
    expect(endings(await read())).toEqual({ abort: 1 });
    expect(traced.span.status.code).toBe(SpanStatusCode.UNSET);
  });

  it.each([[undefined], [null], ['a string'], [7]])(
    'whose source rejects with %s is an error',
    async (failure) => {
      const { engine, read } = startService();
      const { source } = scripted({ next: () => Promise.reject(failure) });
      await expect(drain(engine.startRequest().stream(source))).rejects.toBe(failure);
      expect(endings(await read())).toEqual({ error: 1 });
    },
  );

  it('whose next throws instead of rejecting is an error', async () => {
    const { engine, read } = startService();
    const { source } = scripted({
      next: () => {
        throw new Error('thrown at once');
      },
    });
    await expect(drain(engine.startRequest().stream(source))).rejects.toThrow('thrown at once');
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it.each([[undefined], [null]])('whose next gives no result but %s is an error', async (result) => {
    const { engine, read } = startService();
    const { source } = scripted({ next: () => Promise.resolve(result as unknown as IteratorResult<number>) });
    await expect(drain(engine.startRequest().stream(source))).rejects.toThrow(TypeError);
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it('is done where its source says so with something truthy, as for a loop', async () => {
    const { engine, read } = startService();
    const { source } = scripted({
      next: () => Promise.resolve({ done: 1, value: undefined } as unknown as IteratorResult<number>),
    });
    expect(await drain(engine.startRequest().stream(source))).toEqual([]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('whose source cannot be opened is an error, and the consumer sees it', async () => {
    const { engine, read } = startService();
    const locked = new ReadableStream();
    locked.getReader();
    expect(() => engine.startRequest().stream(locked)).toThrow(TypeError);
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'object'],
    [[1, 2], 'object'],
    ['text', 'string'],
    [{ [Symbol.asyncIterator]: 1 }, 'object'],
  ])('of what is no async iterable is a mistake of the program: %j', (source, type) => {
    const { engine } = startService();
    const request = engine.startRequest();
    expect(() => request.stream(source as unknown as AsyncIterable<number>)).toThrow(
      new TypeError(`request.stream() takes an async iterable; got ${type}`),
    );
    expect(request.ended).toBe(false);
  });

  it('does not end a request a second time', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest();
    for await (const item of request.stream(numbers(3))) if (item === 3) request.end('length');
    expect(endings(await read())).toEqual({ length: 1 });
  });

  it('goes on after the request was aborted by its signal', async () => {
    const { engine, read } = startService();
    const controller = new AbortController();
    const request = engine.startRequest({ signal: controller.signal });
    const items: number[] = [];
    for await (const item of request.stream(numbers(3))) {
      if (item === 1) controller.abort();
      items.push(item);
    }
    expect(items).toEqual([1, 2, 3]);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('of several choices ends them all', async () => {
    const { engine, read } = startService();
    await drain(engine.startRequest({ n: 3 }).stream(numbers(2)));
    expect(endings(await read())).toEqual({ stop: 3 });
  });

  it('that is never iterated is recorded as an abort once it is collected', async () => {
    const { engine, vllm, read } = startService();
    (() => {
      engine.startRequest().stream(numbers(3));
    })();
    await collectUntil(() => vllm.status().requestsInFlight === 0);
    expect(endings(await read())).toEqual({ abort: 1 });
  });
});

describe('the iterator of a stream', () => {
  it('is its own iterable', () => {
    const { engine } = startService();
    const stream = engine.startRequest().stream(numbers(1));
    expect(stream[Symbol.asyncIterator]()).toBe(stream);
  });

  it('passes return on, with its value and what comes of it', async () => {
    const { engine, read } = startService();
    const { source, calls } = scripted({
      next: () => Promise.resolve({ done: false, value: 1 }),
      return: (value?: unknown) => Promise.resolve({ done: true, value: [value, 'cleaned'] }),
    });
    const stream = engine.startRequest().stream(source);
    expect(await stream.return!('early')).toEqual({ done: true, value: ['early', 'cleaned'] });
    expect(calls).toEqual(['return']);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('returns where the source has no return', async () => {
    const { engine, read } = startService();
    const { source } = scripted({ next: () => Promise.resolve({ done: false, value: 1 }) });
    expect(await engine.startRequest().stream(source).return!('early')).toEqual({
      done: true,
      value: 'early',
    });
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('no clean-up'))],
    [
      'throws',
      (): never => {
        throw new Error('no clean-up');
      },
    ],
  ])("lets the consumer see that the source's return %s, after the request's abort", async (_, end) => {
    const { engine, read } = startService();
    const { source } = scripted({ next: () => Promise.resolve({ done: false, value: 1 }), return: end });
    await expect(engine.startRequest().stream(source).return!()).rejects.toThrow('no clean-up');
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('passes throw on, which a generator may answer with an item', async () => {
    const { engine, read } = startService();
    async function* source(): AsyncGenerator<string> {
      try {
        yield 'first';
      } catch (error) {
        yield (error as Error).message;
      }
    }
    const request = engine.startRequest();
    const stream = request.stream(source());
    await stream.next();
    expect(await stream.throw!(new Error('thrown in'))).toEqual({ done: false, value: 'thrown in' });
    expect(request.ended).toBe(false);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it.each<[string, unknown, string]>([
    ['an error', new Error('thrown in'), 'error'],
    ...ABORTS.map(([name, error]): [string, unknown, string] => [name, error, 'abort']),
  ])('takes a throw that the source does not catch for what it is: %s', async (_, error, reason) => {
    const { engine, read } = startService();
    const stream = engine.startRequest().stream(numbers(3));
    await stream.next();
    await expect(stream.throw!(error)).rejects.toBe(error);
    expect(endings(await read())).toEqual({ [reason]: 1 });
  });

  it('closes a source that has no throw', async () => {
    const { engine, read } = startService();
    const { source, calls } = scripted({
      next: () => Promise.resolve({ done: false, value: 1 }),
      return: () => Promise.resolve({ done: true, value: undefined }),
    });
    const error = new Error('thrown in');
    await expect(engine.startRequest().stream(source).throw!(error)).rejects.toBe(error);
    expect(calls).toEqual(['return']);
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it('rejects a throw where the source has neither throw nor return', async () => {
    const { engine, read } = startService();
    const { source } = scripted({ next: () => Promise.resolve({ done: false, value: 1 }) });
    const error = new Error('thrown in');
    await expect(engine.startRequest().stream(source).throw!(error)).rejects.toBe(error);
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it('may be asked for several items at once', async () => {
    const { engine, read } = startService();
    const stream = engine.startRequest().stream(numbers(2));
    const results = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
    expect(results.map(({ done }) => done)).toEqual([false, false, true, true]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });
});

describe('the Context of a stream', () => {
  const CONSUMER = createContextKey('the consumer of this test');

  it("is the request's in the source, its clean-up included, and the consumer's in the loop", async () => {
    const { engine } = startService();
    const request = engine.startRequest();
    const seen: unknown[] = [];
    async function* source(): AsyncGenerator<number> {
      try {
        for (let number = 1; ; number += 1) {
          seen.push(getRequest());
          await Promise.resolve();
          recordPreemption();
          yield number;
        }
      } finally {
        seen.push(getRequest());
      }
    }
    await context.with(ROOT_CONTEXT.setValue(CONSUMER, 'here'), async () => {
      for await (const item of request.stream(source())) {
        expect(context.active().getValue(CONSUMER)).toBe('here');
        expect(getRequest()).toBeUndefined();
        if (item === 2) break;
      }
      expect(context.active().getValue(CONSUMER)).toBe('here');
    });
    expect(seen).toEqual([request, request, request]);
    expect(request.numPreemptions).toBe(2);
  });

  it("is the request's where the iterator is made", () => {
    const { engine } = startService();
    const request = engine.startRequest();
    let seen: unknown;
    request.stream({
      [Symbol.asyncIterator]: () => {
        seen = getRequest();
        return numbers(1);
      },
    });
    expect(seen).toBe(request);
  });
});

describe('a web stream', () => {
  it('works, and is cancelled when it is left', async () => {
    const { engine, read } = startService();
    let cancelled = false;
    let number = 0;
    const source = new ReadableStream<number>({
      pull: (controller) => controller.enqueue((number += 1)),
      cancel: () => void (cancelled = true),
    });
    for await (const item of engine.startRequest().stream(source)) if (item === 3) break;
    expect(cancelled).toBe(true);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('is exhausted when it is closed', async () => {
    const { engine, read } = startService();
    const source = ReadableStream.from<number>(numbers(3));
    expect(await drain(engine.startRequest().stream(source))).toEqual([1, 2, 3]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });
});

describe('a Node stream', () => {
  it('works, and is destroyed when it is left', async () => {
    const { engine, read } = startService();
    const source = Readable.from(numbers(10));
    for await (const item of engine.startRequest().stream(source as AsyncIterable<number>))
      if (item === 2) break;
    expect(source.destroyed).toBe(true);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('that was destroyed with an error is an error', async () => {
    const { engine, read } = startService();
    const source = new Readable({ read: () => {} });
    const items = drain(engine.startRequest().stream(source as AsyncIterable<number>));
    source.destroy(new Error('connection lost'));
    await expect(items).rejects.toThrow('connection lost');
    expect(endings(await read())).toEqual({ error: 1 });
  });

  it('of a request can itself be the source of a response', async () => {
    const { engine, read } = startService();
    const response = Readable.from(engine.startRequest().stream(numbers(3)));
    expect(await drain(response as AsyncIterable<number>)).toEqual([1, 2, 3]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('of a response that the client leaves aborts the request', async () => {
    const { engine, read, vllm } = startService();
    const response = Readable.from(engine.startRequest().stream(numbers(1000)));
    response.once('data', () => response.destroy());
    await new Promise((resolve) => void response.once('close', resolve));
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ abort: 1 });
  });
});
