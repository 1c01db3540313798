import { describe, expect, it } from 'vitest';
import type { EngineCoreOutput } from '../../src/engine/messages.ts';
import { RequestOrder } from '../../src/engine/request-order.ts';
import type { EngineRequest } from '../../src/request/engine-request.ts';
import { message, output } from '../support/messages.ts';
import { collectUntil } from '../support/garbage.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

describe('the outputs of one step after the other', () => {
  it('reach their requests in whatever order they come, with requests that come, go, pause and come back', async () => {
    const { vllm, engine, read, dropped } = startService();
    const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
    const requests = new Map(ids.map((id) => [id, engine.startRequest({ requestId: id })]));
    const received = new Map<string, number>();
    const step = (timestamp: number, outputs: readonly EngineCoreOutput[]): void => {
      for (const { request_id: id, new_token_ids: tokens } of outputs) {
        received.set(id, (received.get(id) ?? 0) + (tokens?.length ?? 0));
      }
      vllm.observe(message(timestamp, ...outputs));
    };
    const one = (id: string): EngineCoreOutput => output(id, 1);
    step(1, ids.map(one));
    step(2, ids.map(one));
    step(3, ids.toReversed().map(one));
    step(4, ids.filter((_, index) => index % 7 > 4).map(one));
    step(
      5,
      ids.map((id, index) => output(id, index)),
    );
    step(
      6,
      ids.map((id, index) => output(id, 2, index % 3 === 0 ? { finish_reason: 1 } : {})),
    );
    const left = ids.filter((_, index) => index % 3 !== 0);
    step(7, left.map(one));
    const again = engine.startRequest({ requestId: 'r0' });
    step(8, ['r0', ...left].map(one));
    step(
      9,
      [...left.slice(5), ...left.slice(0, 5), 'r0'].map((id) => output(id, 3, { finish_reason: 0 })),
    );

    const reading = await read();
    const all = [...received.values()].reduce((sum, tokens) => sum + tokens, 0);
    expect(reading.value('vllm:generation_tokens')).toBe(all);
    expect(reading.histogram('vllm:request_generation_tokens')).toMatchObject({ count: 41, sum: all });
    expect(endings(reading)).toEqual({ length: 14, stop: 27 });
    expect([...requests.values(), again].every(({ ended }) => ended)).toBe(true);
    expect(dropped()).toEqual({});
  });

  it('never reach a request that has ended under an id that was started again', async () => {
    const { vllm, engine, read } = startService();
    const first = engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1)));
    first.end('abort');
    const second = engine.startRequest({ requestId: 'r' });
    vllm.observe(message(2, output('r', 5, { finish_reason: 0 })));
    expect(second.ended).toBe(true);
    expect((await read()).histogram('vllm:request_generation_tokens')).toMatchObject({ count: 2, sum: 6 });
    expect(endings(await read())).toEqual({ abort: 1, stop: 1 });
  });
});

/** As much of a request as its order looks at. */
function someRequests(count: number, prefix = 'r'): readonly EngineRequest[] {
  return Array.from(
    { length: count },
    (_, index) => ({ id: `${prefix}${index}`, ended: false }) as EngineRequest,
  );
}

function batch(order: RequestOrder, all: readonly EngineRequest[]): void {
  for (const request of all) order.add(request);
  order.turn();
}

describe('RequestOrder', () => {
  it('finds a request past four that are missing, and past any number that have ended', () => {
    const order = new RequestOrder();
    const all = someRequests(40);
    batch(order, all);
    expect(order.find('r3')).toBe(all[3]);
    expect(order.find('r8')).toBeUndefined();
    expect(order.find('r7')).toBe(all[7]);
    for (const request of all.slice(8, 30)) Object.assign(request, { ended: true });
    expect(order.find('r29')).toBeUndefined();
    expect(order.find('r33')).toBe(all[33]);
    // It goes forward alone.
    expect(order.find('r32')).toBeUndefined();
  });

  it('looks no further in a batch of which sixteen in a row were missing, and anew in the next', () => {
    const order = new RequestOrder();
    const all = someRequests(3);
    const misses = (count: number): void => {
      for (const { id } of someRequests(count, 'other')) expect(order.find(id)).toBeUndefined();
    };
    batch(order, all);
    misses(15);
    expect(order.find('r0')).toBe(all[0]);
    misses(15);
    expect(order.find('r1')).toBe(all[1]);
    misses(16);
    expect(order.find('r2')).toBeUndefined();
    batch(order, all);
    expect(order.find('r2')).toBe(all[2]);
  });

  it('holds no request that was in neither of the last two batches', async () => {
    const order = new RequestOrder();
    const [kept, gone] = ((): [readonly EngineRequest[], readonly WeakRef<EngineRequest>[]] => {
      const all = someRequests(6);
      batch(order, all);
      batch(order, all.slice(0, 2));
      batch(order, all.slice(0, 2));
      return [all.slice(0, 2), all.slice(2).map((request) => new WeakRef(request))];
    })();
    await collectUntil(() => gone.every((request) => request.deref() === undefined));
    expect(order.find('r0')).toBe(kept[0]);
  });
});
