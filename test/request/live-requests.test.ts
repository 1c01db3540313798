import { describe, expect, it } from 'vitest';
import { LiveRequests } from '../../src/request/live-requests.ts';
import { message, output } from '../support/messages.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

const remember = (live: LiveRequests, from: number, to: number): void => {
  for (let id = from; id <= to; id += 1) live.rememberEnded(`r${id}`);
};

describe('the ids of requests that have ended', () => {
  it('are remembered, the last 1024 at least and 2048 at most', () => {
    const live = new LiveRequests();
    expect(live.endedLately('r1')).toBe(false);
    remember(live, 1, 1024);
    expect(live.endedLately('r1')).toBe(true);
    remember(live, 1025, 2048);
    expect(['r1', 'r1024', 'r1025', 'r2048'].map((id) => live.endedLately(id))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    remember(live, 2049, 2049);
    expect(['r1', 'r1024', 'r1025', 'r2049'].map((id) => live.endedLately(id))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    remember(live, 2050, 3072);
    expect(['r1025', 'r2048'].map((id) => live.endedLately(id))).toEqual([true, true]);
    remember(live, 3073, 3073);
    expect(['r1025', 'r2048', 'r2049'].map((id) => live.endedLately(id))).toEqual([false, false, true]);
  });

  it('are forgotten one by one, however long ago they were remembered', () => {
    const live = new LiveRequests();
    remember(live, 1, 1025);
    expect(['r1', 'r1025', 'r7777'].map((id) => live.forgetEnded(id))).toEqual([true, true, false]);
    expect(['r1', 'r1025'].map((id) => live.forgetEnded(id))).toEqual([false, false]);
    expect(['r1', 'r2', 'r1025'].map((id) => live.endedLately(id))).toEqual([false, true, false]);
  });

  it('that ended twice are forgotten at once', () => {
    const live = new LiveRequests();
    remember(live, 1, 1024);
    remember(live, 1, 1);
    expect(live.forgetEnded('r1')).toBe(true);
    expect(live.endedLately('r1')).toBe(false);
  });
});

describe('an output of a request that has ended', () => {
  it('is told from one of a request that never was, while its id is remembered', () => {
    const { vllm, engine, dropped } = startService();
    const last = { finish_reason: 0 };
    const run = (requestId: string): void => {
      engine.startRequest({ requestId });
      vllm.observe(message(1, output(requestId, 1, last)));
    };
    run('r');
    vllm.observe(message(2, output('r', 1), output('never', 1)));
    expect(dropped()).toEqual({ afterEnd: 1, unknownRequest: 1 });
    for (let count = 0; count < 2047; count += 1) run(`another ${count}`);
    vllm.observe(message(3, output('r', 1)));
    expect(dropped()).toEqual({ afterEnd: 2, unknownRequest: 1 });
    run('one more');
    vllm.observe(message(4, output('r', 1)));
    expect(dropped()).toEqual({ afterEnd: 2, unknownRequest: 2 });
  });

  it('goes to its successor, where the client has sent the same id again', async () => {
    const { vllm, engine, read, dropped } = startService();
    vllm.observe(message(1));
    engine.startRequest({ requestId: 'r' }).end('abort');
    engine.startRequest({ requestId: 'r' });
    vllm.observe(message(2, output('r', 1, { finish_reason: 1 })));
    expect(endings(await read())).toEqual({ abort: 1, length: 1 });
    expect(dropped()).toEqual({});
  });
});

describe('a request under the id of a live one', () => {
  it('leaves that id to the first, also when it ends', async () => {
    const { vllm, engine, read, dropped } = startService();
    vllm.observe(message(1, output('another', 0, { finish_reason: 0 })));
    const first = engine.startRequest({ requestId: 'r' });
    engine.startRequest({ requestId: 'r' }).end('length');
    vllm.observe({ finished_requests: ['r'] });
    expect(first.ended).toBe(true);
    expect(endings(await read())).toEqual({ length: 1, abort: 1 });
    expect(dropped()).toEqual({ unknownRequest: 1, duplicateRequestId: 1 });
  });
});

describe('finished_requests', () => {
  it('with the id of a request that ended before do not end its successor, and do the next time', async () => {
    const { vllm, engine, read } = startService();
    vllm.observe(message(1, output('another', 1)));
    engine.startRequest({ requestId: 'r' }).end('stop');
    const successor = engine.startRequest({ requestId: 'r' });
    vllm.observe({ finished_requests: ['r'] });
    expect(successor.ended).toBe(false);
    vllm.observe({ finished_requests: ['r'] });
    expect(successor.ended).toBe(true);
    expect(endings(await read())).toEqual({ stop: 1, abort: 1 });
  });

  it('that come with the last output leave nothing to hold against a successor', async () => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe({ ...message(1, output('r', 1, { finish_reason: 0 })), finished_requests: ['r'] });
    const successor = engine.startRequest({ requestId: 'r' });
    vllm.observe({ finished_requests: ['r'] });
    expect(successor.ended).toBe(true);
    expect(endings(await read())).toEqual({ stop: 1, abort: 1 });
  });

  it('that end a request leave nothing to hold against a successor either', async () => {
    const { vllm, engine, read } = startService();
    for (let round = 0; round < 2; round += 1) {
      const request = engine.startRequest({ requestId: 'r' });
      vllm.observe({ finished_requests: ['r'] });
      expect(request.ended).toBe(true);
    }
    expect(endings(await read())).toEqual({ abort: 2 });
  });

  it('let a tracked request of the same id begin anew', async () => {
    const { vllm, read, dropped } = startService({ trackUnknownRequests: true });
    const whole = { ...message(1, output('r', 1, { finish_reason: 0 })), finished_requests: ['r'] };
    vllm.observe(whole);
    vllm.observe(whole);
    expect(endings(await read())).toEqual({ stop: 2 });
    expect(dropped()).toEqual({});
  });
});
