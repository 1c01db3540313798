import { describe, expect, it } from 'vitest';
import type { SchedulerStats } from '../../src/engine/messages.ts';
import { message, output } from '../support/messages.ts';
import { endings } from '../support/per-request.ts';
import type { Reading } from '../support/reading.ts';
import { startService, type Service } from '../support/service.ts';

const BUSY: SchedulerStats = {
  num_running_reqs: 5,
  num_waiting_reqs: 3,
  num_skipped_waiting_reqs: 1,
  kv_cache_usage: 0.5,
};
const SHOWN_BUSY = [5, 4, 3, 1, 0.5];
const SHOWN_IDLE = [0, 0, 0, 0, 0];

/** Running, waiting, waiting for capacity, deferred, KV usage. */
function load(reading: Reading): number[] {
  return [
    reading.value('vllm:num_requests_running'),
    reading.value('vllm:num_requests_waiting'),
    reading.value('vllm:num_requests_waiting_by_reason', { reason: 'capacity' }),
    reading.value('vllm:num_requests_waiting_by_reason', { reason: 'deferred' }),
    reading.value('vllm:kv_cache_usage_perc'),
  ];
}

/** A service whose engine was last heard of while it was busy. */
function startBusy(...options: Parameters<typeof startService>): Service & { abortAll(): void } {
  const service = startService(...options);
  const requests = ['a', 'b'].map((requestId) => service.engine.startRequest({ requestId }));
  service.vllm.observe({ ...message(1, output('a', 1), output('b', 1)), scheduler_stats: BUSY });
  return {
    ...service,
    abortAll: () => {
      for (const request of requests) request.end('abort');
    },
  };
}

/** What the collections show that come so many seconds after one another. */
async function collectAfter({ clock, read }: Service, ...pauses: readonly number[]): Promise<number[][]> {
  const shown: number[][] = [];
  for (const pause of pauses) {
    clock.monotonic += pause;
    shown.push(load(await read()));
  }
  return shown;
}

describe('the gauges of an engine whose requests were all aborted', () => {
  it('read 0 once it has been silent for five seconds, from the first collection after its last message on', async () => {
    const service = startBusy();
    service.abortAll();
    expect(await collectAfter(service, 100, 4.999, 0.001, 1000)).toEqual([
      SHOWN_BUSY,
      SHOWN_BUSY,
      SHOWN_IDLE,
      SHOWN_IDLE,
    ]);
    expect(service.dropped()).toEqual({});
  });

  it('wait five seconds more where a stale message comes after the abort, whatever it says', async () => {
    const service = startBusy();
    service.abortAll();
    expect(await collectAfter(service, 0, 4)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
    service.vllm.observe({ scheduler_stats: { ...BUSY, num_running_reqs: 4 } });
    expect(await collectAfter(service, 4, 4, 1)).toEqual([[4, 4, 3, 1, 0.5], [4, 4, 3, 1, 0.5], SHOWN_IDLE]);
  });

  it.each<[string, (service: Service) => void]>([
    ['an output without statistics', ({ vllm }) => vllm.observe(message(2, output('a', 1)))],
    ['a message that says nothing', ({ vllm }) => vllm.observe({})],
    ['finished_requests', ({ vllm }) => vllm.observe({ finished_requests: ['a', 'b'] })],
    ['statistics by recordSchedulerStats', ({ engine }) => engine.recordSchedulerStats(BUSY)],
  ])('take %s for a sign of life', async (_, send) => {
    const service = startBusy();
    service.abortAll();
    await collectAfter(service, 0);
    service.clock.monotonic += 4;
    send(service);
    expect(await collectAfter(service, 1, 4.5, 0.5)).toEqual([SHOWN_BUSY, SHOWN_BUSY, SHOWN_IDLE]);
  });

  it('stand as they come with the next statistics, also without a request of this frontend', async () => {
    const service = startBusy();
    service.abortAll();
    await collectAfter(service, 0, 5);
    service.engine.recordSchedulerStats({ num_running_reqs: 1, kv_cache_usage: 0.25 });
    expect(await collectAfter(service, 0, 4, 1)).toEqual([
      [1, 0, 0, 0, 0.25],
      [1, 0, 0, 0, 0.25],
      SHOWN_IDLE,
    ]);
  });

  it('read 0 for requests whose KV is being fetched, too', async () => {
    const service = startBusy();
    const stages = { waiting_to_start: 2, completed_waiting: 1 };
    service.engine.recordSchedulerStats({ ...BUSY, num_kv_fetch_reqs_by_stage: stages });
    service.abortAll();
    await collectAfter(service, 0);
    service.clock.monotonic += 5;
    const points = (await service.read()).points('vllm:num_requests_kv_fetch_by_stage');
    expect(points.map(({ value }) => value)).toEqual([0, 0, 0]);
  });

  it('do not bring up series of KV fetches that were never told of', async () => {
    const service = startBusy();
    service.abortAll();
    await collectAfter(service, 0);
    service.clock.monotonic += 5;
    expect((await service.read()).names).not.toContain('vllm:num_requests_kv_fetch_by_stage');
  });

  it('are those of that engine alone', async () => {
    const service = startBusy();
    service.vllm.engine(1).startRequest();
    service.vllm.observe({ engine_index: 1, scheduler_stats: { num_running_reqs: 7 } });
    service.abortAll();
    await collectAfter(service, 0);
    service.clock.monotonic += 5;
    const reading = await service.read();
    expect(load(reading)).toEqual(SHOWN_IDLE);
    expect(reading.value('vllm:num_requests_running', { engine: '1' })).toBe(7);
  });

  it('leave the counters alone', async () => {
    const service = startBusy();
    service.abortAll();
    await collectAfter(service, 0);
    service.clock.monotonic += 5;
    const reading = await service.read();
    expect(reading.value('vllm:generation_tokens')).toBe(2);
    expect(endings(reading)).toEqual({ abort: 2 });
  });
});

describe('the gauges stand, however long the engine is silent,', () => {
  it('while a request of this frontend is in flight', async () => {
    const service = startBusy();
    const last = service.engine.startRequest();
    service.abortAll();
    expect(await collectAfter(service, 0, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
    last.end('abort');
    expect(await collectAfter(service, 4.999, 0.001)).toEqual([SHOWN_BUSY, SHOWN_IDLE]);
  });

  it('and the five seconds begin anew with each collection that finds one in flight', async () => {
    const service = startBusy();
    service.abortAll();
    await collectAfter(service, 0, 4);
    const another = service.engine.startRequest();
    await collectAfter(service, 0);
    another.end('abort');
    expect(await collectAfter(service, 4, 1)).toEqual([SHOWN_BUSY, SHOWN_IDLE]);
  });

  it('in a service that starts no requests', async () => {
    const service = startService();
    service.vllm.observe({ ...message(1, output('of another', 1)), scheduler_stats: BUSY });
    expect(await collectAfter(service, 0, 1000, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY, SHOWN_BUSY]);
  });

  it('in a service whose only requests are on another engine', async () => {
    const service = startService();
    service.vllm.engine(1).startRequest().end('abort');
    service.engine.recordSchedulerStats(BUSY);
    expect(await collectAfter(service, 0, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
  });

  it('while the instrumentation is disabled, which hears nothing then', async () => {
    const service = startBusy();
    service.vllm.disable();
    expect(await collectAfter(service, 0, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
    service.vllm.enable();
    expect(await collectAfter(service, 0, 5)).toEqual([SHOWN_BUSY, SHOWN_IDLE]);
  });

  it('where a request was started while it was disabled alone', async () => {
    const service = startService();
    service.engine.recordSchedulerStats(BUSY);
    service.vllm.disable();
    service.engine.startRequest().end('abort');
    service.vllm.enable();
    expect(await collectAfter(service, 0, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
  });
});

describe('with trackUnknownRequests', () => {
  it("requests that began with their first output count as this frontend's own", async () => {
    const service = startService({ trackUnknownRequests: true });
    const { vllm } = service;
    vllm.observe({ ...message(1, output('a', 1), output('b', 1)), scheduler_stats: BUSY });
    expect(await collectAfter(service, 0, 1000)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
    vllm.observe({ finished_requests: ['a', 'b'] });
    expect(await collectAfter(service, 0, 4.999, 0.001)).toEqual([SHOWN_BUSY, SHOWN_BUSY, SHOWN_IDLE]);
  });

  it('one of which the engine says nothing more keeps the rule off for its ten minutes', async () => {
    const service = startService({ trackUnknownRequests: true });
    service.vllm.observe({ ...message(1, output('a', 1)), scheduler_stats: BUSY });
    service.clock.wall += 599;
    expect(await collectAfter(service, 0, 599)).toEqual([SHOWN_BUSY, SHOWN_BUSY]);
    service.clock.wall += 601;
    expect(await collectAfter(service, 1)).toEqual([SHOWN_BUSY]);
    service.clock.wall += 5;
    expect(await collectAfter(service, 4)).toEqual([SHOWN_IDLE]);
    expect(endings(await service.read())).toEqual({ abort: 1 });
  });
});

describe('an engine whose messages are not observed', () => {
  it('keeps the numbers that its service hands on, however seldom', async () => {
    const service = startService();
    service.engine.startRequest().end();
    service.engine.recordSchedulerStats(BUSY);
    expect(await collectAfter(service, 0, 5, 60)).toEqual([SHOWN_BUSY, SHOWN_BUSY, SHOWN_BUSY]);
  });
});

describe('an adopted request', () => {
  it('brings its engine under the rule like one that was started', async () => {
    const service = startService();
    const span = service.traced.tracer.startSpan('GET /');
    service.vllm.adopt(span, { requestId: 'a' });
    service.vllm.observe({ ...message(1, output('a', 1)), scheduler_stats: BUSY });
    span.end();
    expect(await collectAfter(service, 0, 5)).toEqual([SHOWN_BUSY, SHOWN_IDLE]);
  });
});
