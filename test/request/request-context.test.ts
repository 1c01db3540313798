import { context, diag, DiagLogLevel, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { getRequest, recordPreemption } from '../../src/request/request-context.ts';
import type { VllmRequest } from '../../src/request/vllm-request.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { endings } from '../support/per-request.ts';
import { occurred, startService } from '../support/service.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';

/** Ways from a request to the code that notices a preemption; `emitter` was made with the service. */
const PATHS: readonly [string, (emitter: EventEmitter) => Promise<void>][] = [
  [
    'three async calls',
    async () => {
      const third = async (): Promise<void> => {
        await Promise.resolve();
        expect(recordPreemption()).toBe(true);
      };
      const second = async (): Promise<void> => {
        await Promise.resolve();
        await third();
      };
      await second();
    },
  ],
  [
    'a timer',
    async () => {
      await new Promise<void>((resolve) => {
        setTimeout(() => {
          expect(recordPreemption()).toBe(true);
          resolve();
        }, 1);
      });
    },
  ],
  [
    'an awaited timer, a tick and an immediate',
    async () => {
      await delay(1);
      await new Promise((resolve) => void setImmediate(resolve));
      await new Promise<void>((resolve) => {
        process.nextTick(() => queueMicrotask(resolve));
      });
      expect(recordPreemption()).toBe(true);
    },
  ],
  [
    'an async generator',
    async () => {
      async function* steps(): AsyncGenerator<number> {
        yield 1;
        await delay(1);
        expect(recordPreemption()).toBe(true);
        yield 2;
      }
      for await (const step of steps()) expect(step).toBeGreaterThan(0);
    },
  ],
  [
    'an EventEmitter that everybody shares',
    async (emitter) => {
      await delay(1);
      emitter.emit('preempted');
    },
  ],
  [
    'an EventEmitter of its own, heard of from outside',
    async () => {
      const own = context.bind(context.active(), new EventEmitter());
      own.on('preempted', () => expect(recordPreemption()).toBe(true));
      context.with(ROOT_CONTEXT, () => own.emit('preempted'));
      await Promise.resolve();
    },
  ],
  [
    'an event that is awaited',
    async () => {
      const own = new EventEmitter();
      setImmediate(() => own.emit('preempted'));
      await once(own, 'preempted');
      expect(recordPreemption()).toBe(true);
    },
  ],
];

function listening(): EventEmitter {
  return new EventEmitter().on('preempted', () => expect(recordPreemption()).toBe(true));
}

describe('recordPreemption', () => {
  it.each(PATHS)('reaches the request from below through %s', async (_, path) => {
    const { engine, read } = startService();
    const emitter = listening();
    const [request, other] = [engine.startRequest(), engine.startRequest()];
    await request.run(() => path(emitter));
    expect([request.numPreemptions, other.numPreemptions]).toEqual([1, 0]);
    request.end();
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
  });

  it('reaches the right one of 1,000 interleaved requests, each on every path', async () => {
    const { engine, read, vllm, dropped } = startService();
    const emitter = listening();
    const handle = async (request: VllmRequest, position: number): Promise<void> => {
      await request.run(async () => {
        // 0 to 21 preemptions, along paths that differ from request to request, several at once.
        const walks: Promise<void>[] = [];
        for (let count = 0; count < position % 22; count += 1) {
          walks.push(PATHS[(position + count) % PATHS.length]![1](emitter));
          if (count % 3 === 0) await delay(position % 3);
        }
        await Promise.all(walks);
      });
      expect(request.numPreemptions).toBe(position % 22);
      request.end(position % 2 === 0 ? 'stop' : 'length');
    };
    const requests = Array.from({ length: 1000 }, () => engine.startRequest());
    await Promise.all(requests.map(handle));

    const expected = { count: 1000, sum: 0, buckets: [0, 0, 0, 0, 0, 0, 0, 0] };
    for (let position = 0; position < 1000; position += 1) {
      const preemptions = position % 22;
      expected.sum += preemptions;
      const bucket = [1, 2, 3, 4, 5, 10, 20, Infinity].findIndex((bound) => preemptions <= bound);
      expected.buckets[bucket]! += 1;
    }
    const reading = await read();
    expect(reading.histogram(PREEMPTIONS)).toEqual(expected);
    expect(reading.value('vllm:num_preemptions')).toBe(expected.sum);
    expect(endings(reading)).toEqual({ stop: 500, length: 500 });
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(dropped()).toEqual({});
  });

  it('is false where the Context has no request, which is no drop', () => {
    const { dropped } = startService();
    expect(recordPreemption()).toBe(false);
    expect(context.with(ROOT_CONTEXT, () => recordPreemption())).toBe(false);
    expect(dropped()).toEqual({});
  });

  it('is false after the end of the request', () => {
    const { engine, dropped } = startService();
    const request = engine.startRequest();
    request.run(() => {
      request.end();
      expect(recordPreemption()).toBe(false);
    });
    expect(dropped()).toEqual({ afterEnd: 1 });
  });

  it('takes the time it is given', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest();
    request.run(() => recordPreemption(77.5));
    request.end();
    expect(traced.span.events[0]?.attributes?.['vllm.engine.timestamp']).toBe(77.5);
  });

  it('inside a request inside a request means the inner one', () => {
    const { engine } = startService();
    const [outer, inner] = [engine.startRequest(), engine.startRequest()];
    outer.run(() => {
      inner.run(() => recordPreemption());
      recordPreemption();
      recordPreemption();
    });
    expect([outer.numPreemptions, inner.numPreemptions]).toEqual([2, 1]);
  });
});

describe('getRequest', () => {
  it('reads the active Context, or the one that is given', () => {
    const { engine } = startService();
    const request = engine.startRequest();
    expect(getRequest()).toBeUndefined();
    expect(getRequest(request.context)).toBe(request);
    expect(getRequest(ROOT_CONTEXT)).toBeUndefined();
    expect(request.run(() => getRequest())).toBe(request);
  });

  it('finds the request below spans that started inside run', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest();
    request.run(() => {
      traced.tracer.startActiveSpan('inner', (span) => {
        expect(getRequest()).toBe(request);
        expect(trace.getActiveSpan()).toBe(span);
      });
    });
  });
});

describe('two copies of this package in one process', () => {
  beforeEach(() => vi.resetModules());

  it('find the requests of each other through the Context', async () => {
    const { engine, read } = startService();
    const copy = await import('../../src/index.ts');
    expect(copy.VllmInstrumentation).not.toBe(VllmInstrumentation);
    const request = engine.startRequest();
    request.run(() => {
      expect(copy.getRequest()).toBe(request);
      expect(copy.recordPreemption()).toBe(true);
    });
    request.end();
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
  });

  it('find the adopted spans of each other, and adopt none twice', async () => {
    const { vllm, traced, read } = startService();
    const copy = await import('../../src/index.ts');
    const other = new copy.VllmInstrumentation({ modelName: 'other-model' });
    const span = traced.tracer.startSpan('server');
    const request = vllm.adopt(span);
    expect(other.adopt(span)).toBe(request);
    context.with(trace.setSpan(ROOT_CONTEXT, span), () => {
      expect(copy.recordPreemption()).toBe(true);
    });
    span.end();
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
    expect(other.status().requestsInFlight).toBe(0);
  });
});

describe('without a ContextManager', () => {
  it('requests are recorded all the same, and that nothing propagates is said once', async () => {
    const { vllm, engine, read } = startService();
    context.disable();
    const said = captureDiag();
    expect(vllm.status().contextPropagates).toBe(false);
    for (let count = 0; count < 3; count += 1) {
      const request = engine.startRequest();
      expect(request.run(() => recordPreemption())).toBe(false);
      expect(request.recordPreemption()).toBe(true);
      request.end();
    }
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 3, sum: 3 });
    expect(said).toEqual([
      'opentelemetry-instrumentation-vllm: no ContextManager is registered, so recordPreemption() and getRequest() ' +
        'find no request and spans have no parent. NodeSDK registers one; otherwise call ' +
        'context.setGlobalContextManager(new AsyncLocalStorageContextManager()) from @opentelemetry/context-async-hooks.',
    ]);
    expect(occurred(vllm)).toEqual({});
  });

  it('says nothing where there is one', () => {
    const { vllm, engine } = startService();
    const said = captureDiag();
    engine.startRequest().end();
    expect(vllm.status().contextPropagates).toBe(true);
    expect(said).toEqual([]);
  });

  it('survives a diag logger that throws', () => {
    const { engine } = startService();
    context.disable();
    const fail = (): never => {
      throw new Error('the logger failed');
    };
    const logger = { error: fail, warn: fail, info: fail, debug: fail, verbose: fail };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    try {
      expect(engine.startRequest().end()).toBe(true);
    } finally {
      diag.disable();
    }
  });
});
