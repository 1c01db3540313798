import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onAbort } from '../../src/request/abort-listener.ts';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { collectUntil } from '../support/garbage.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

describe('onAbort', () => {
  it('calls back once, when the signal aborts', () => {
    const controller = new AbortController();
    let calls = 0;
    onAbort(controller.signal, () => (calls += 1));
    expect(calls).toBe(0);
    controller.abort();
    controller.signal.dispatchEvent(new Event('abort'));
    expect(calls).toBe(1);
  });

  it('calls back at once where the signal has aborted', () => {
    let calls = 0;
    const remove = onAbort(AbortSignal.abort(), () => (calls += 1));
    expect(calls).toBe(1);
    remove();
  });

  it('does not call back what was taken off, and does the others', () => {
    const controller = new AbortController();
    const calls: string[] = [];
    const remove = onAbort(controller.signal, () => calls.push('a'));
    onAbort(controller.signal, () => calls.push('b'));
    remove();
    controller.abort();
    expect(calls).toEqual(['b']);
  });

  it('uses one listener per signal', () => {
    const controller = new AbortController();
    for (let count = 0; count < 100; count += 1) onAbort(controller.signal, () => {});
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  });
});

describe('the listener of a signal', () => {
  it('is gone with the last callback, so that a signal of AbortSignal.any() is free again', () => {
    const signal = AbortSignal.any([new AbortController().signal]);
    const removals = [0, 1].map(() => onAbort(signal, () => {}));
    removals[0]!();
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    removals[1]!();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    const calls: string[] = [];
    onAbort(signal, () => calls.push('again'));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  });

  it('is reached where an earlier one stops the event', () => {
    const controller = new AbortController();
    let calls = 0;
    controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    onAbort(controller.signal, () => (calls += 1));
    controller.abort();
    expect(calls).toBe(1);
  });
});

describe('a request with an AbortSignal', () => {
  it('with several choices lets go of the signal with the last of them', () => {
    const { engine } = startService();
    const { signal } = new AbortController();
    const { choices } = engine.startRequest({ n: 2, signal });
    choices[0]!.end('stop');
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    choices[1]!.end('stop');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('ends as an abort when the signal fires, once', async () => {
    const { engine, clock, read } = startService();
    const controller = new AbortController();
    const request = engine.startRequest({ signal: controller.signal });
    clock.wall += 4;
    controller.abort();
    expect(request.ended).toBe(true);
    expect(request.end('stop')).toBe(false);
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 1 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds')).toMatchObject({ count: 1, sum: 4 });
  });

  it.each([1, 2])('that lets go of no listener ends all the same, with %d choices', async (n) => {
    const { engine, read, dropped } = startService();
    const target = new EventTarget();
    const signal = {
      aborted: false,
      addEventListener: target.addEventListener.bind(target),
      removeEventListener: (): never => {
        throw new TypeError('not here');
      },
    } as unknown as AbortSignal;
    const request = engine.startRequest({ n, signal });
    expect(request.end('length')).toBe(true);
    target.dispatchEvent(new Event('abort'));
    const reading = await read();
    expect(endings(reading)).toEqual({ length: n });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, n));
    expect(counts(reading, PER_USER_REQUEST)).toEqual(all(PER_USER_REQUEST, 1));
    expect(dropped()).toEqual({});
  });

  it('that has aborted ends at its start', async () => {
    const { engine, vllm, read } = startService();
    const request = engine.startRequest({ signal: AbortSignal.abort() });
    expect(request.ended).toBe(true);
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('that fires after the end changes nothing', async () => {
    const { engine, read, dropped } = startService();
    const controller = new AbortController();
    engine.startRequest({ signal: controller.signal }).end('length');
    controller.abort();
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({});
  });

  it('shared by 100 requests ends them all, without a warning of a leak', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const { engine, read } = startService();
    const controller = new AbortController();
    const requests = Array.from({ length: 100 }, () => engine.startRequest({ signal: controller.signal }));
    requests[3]!.end('stop');
    controller.abort();
    await new Promise((resolve) => void setImmediate(resolve));
    expect(warnings).toEqual([]);
    expect(endings(await read())).toEqual({ stop: 1, abort: 99 });
  });

  it('is let go of at the end: the signal keeps nothing of the request', async () => {
    const engine = new VllmInstrumentation({ modelName: 'test-model' }).engine(0);
    const controller = new AbortController();
    let span: WeakRef<object>;
    (() => {
      const request = engine.startRequest({ signal: controller.signal });
      span = new WeakRef(request.span!);
      request.end();
    })();
    await collectUntil(() => span.deref() === undefined);
    expect(controller.signal.aborted).toBe(false);
  });
});
