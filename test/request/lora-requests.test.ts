import { describe, expect, it } from 'vitest';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import type { Reading } from '../support/reading.ts';
import { startService, type Service } from '../support/service.ts';
import { OWN_READERS, showThrough } from '../support/shown.ts';

const NAME = 'vllm:lora_requests_info';

/** The one series: max_lora, waiting and running adapters, time of the last change; undefined without one. */
function shown(reading: Reading): [string, string, string, number] | undefined {
  if (!reading.names.includes(NAME)) return undefined;
  const points = reading.points(NAME);
  expect(points).toHaveLength(1);
  const { attributes, value } = points[0]!;
  expect(Object.keys(attributes).toSorted()).toEqual([
    'max_lora',
    'running_lora_adapters',
    'waiting_lora_adapters',
  ]);
  return [
    attributes['max_lora'] as string,
    attributes['waiting_lora_adapters'] as string,
    attributes['running_lora_adapters'] as string,
    value as number,
  ];
}

/**
 * A service that reads the waiting and running adapters and the time of the last change. With delta temporality: the
 * SDK's own cumulative reader keeps the series that are no more.
 */
async function startObserved(
  options: Parameters<typeof startService>[0] = { maxLoras: 4 },
): Promise<Service & { adapters(): Promise<(string | number)[]>; at(wall: number): void }> {
  const service = startService(options);
  const show = await showThrough(service.vllm, 'the SDK, delta');
  const adapters = async (): Promise<(string | number)[]> => {
    const series = (await show()).series(NAME);
    expect(series).toHaveLength(1);
    const [labels, value] = series[0]!;
    return [labels['waiting_lora_adapters'] as string, labels['running_lora_adapters'] as string, value];
  };
  return {
    ...service,
    adapters,
    at: (wall) => {
      service.clock.wall = wall;
    },
  };
}

describe('the series of LoRA requests', () => {
  it('is there from the start where maxLoras is given, with empty lists and the time of the start', async () => {
    const { read, clock } = startService({ maxLoras: 4 });
    clock.wall = 2000;
    expect(shown(await read())).toEqual(['4', '', '', 1000]);
  });

  it('is there without an engine, too', async () => {
    const { vllm, read } = startService({ maxLoras: 1 });
    vllm.removeEngine(0);
    expect(shown(await read())).toEqual(['1', '', '', 1000]);
  });

  it('otherwise comes with the first request that has an adapter, without a max_lora', async () => {
    const { engine, read, clock } = startService();
    engine.startRequest();
    expect(shown(await read())).toBeUndefined();
    clock.wall = 1500;
    const request = engine.startRequest({ loraName: 'sql' });
    clock.wall = 1600;
    expect(shown(await read())).toEqual(['', '', '', 1500]);
    request.end();
    engine.startRequest({ loraName: 'sql' });
    expect(shown(await read())).toEqual(['', '', '', 1500]);
  });

  it.each(OWN_READERS)('is one at a time, in %s', async (kind) => {
    const { vllm, engine } = startService({ maxLoras: 2 });
    const show = await showThrough(vllm, kind);
    const series = async (): Promise<unknown> => (await show()).series(NAME);
    const expected = (waiting: string, running: string): unknown => [
      [{ max_lora: '2', waiting_lora_adapters: waiting, running_lora_adapters: running }, 1000],
    ];
    expect(await series()).toEqual(expected('', ''));
    const request = engine.startRequest({ loraName: 'sql' });
    for (const [event, waiting, running] of [
      ['queued', 'sql', ''],
      ['scheduled', '', 'sql'],
      ['preempted', 'sql', ''],
      ['scheduled', '', 'sql'],
    ] as const) {
      request.recordEvent(event);
      expect(await series()).toEqual(expected(waiting, running));
    }
    request.end();
    expect(await series()).toEqual(expected('', ''));
  });
});

describe('an adapter', () => {
  it('is neither waiting nor running before the engine has its request, and after the end', async () => {
    const { engine, at, adapters } = await startObserved();
    at(2000);
    const request = engine.startRequest({ loraName: 'sql' });
    expect(await adapters()).toEqual(['', '', 1000]);
    request.recordTokens(1);
    expect(await adapters()).toEqual(['', '', 1000]);
    request.end();
    expect(await adapters()).toEqual(['', '', 1000]);
  });

  it('waits once queued, runs once scheduled, waits again when preempted; the value is the time of that', async () => {
    const { engine, at, adapters } = await startObserved();
    const request = engine.startRequest({ loraName: 'sql' });
    for (const [wall, event, waiting, running] of [
      [2000, 'queued', 'sql', ''],
      [2001, 'scheduled', '', 'sql'],
      [2002, 'preempted', 'sql', ''],
      [2003, 'scheduled', '', 'sql'],
    ] as const) {
      at(wall);
      request.recordEvent(event);
      at(wall + 0.5);
      expect(await adapters()).toEqual([waiting, running, wall]);
    }
    at(2004);
    request.end();
    at(2005);
    expect(await adapters()).toEqual(['', '', 2004]);
  });

  it('moves with the events of messages', async () => {
    const { vllm, engine, at, adapters } = await startObserved();
    engine.startRequest({ requestId: 'r', loraName: 'sql' });
    at(2000);
    vllm.observe(message(1, output('r', 0, { events: [queued(1)] })));
    expect(await adapters()).toEqual(['sql', '', 2000]);
    at(2001);
    vllm.observe(message(2, output('r', 1, { events: [scheduled(2), preempted(3), scheduled(4)] })));
    expect(await adapters()).toEqual(['', 'sql', 2001]);
    at(2002);
    vllm.observe(message(5, output('r', 1, { events: [preempted(5)], finish_reason: 0 })));
    expect(await adapters()).toEqual(['', '', 2002]);
  });

  it.each(['queued', 'scheduled'] as const)('that is %s twice is there once', async (event) => {
    const { engine, at, adapters } = await startObserved();
    const request = engine.startRequest({ loraName: 'sql' });
    at(2000);
    request.recordEvent(event);
    at(2001);
    request.recordEvent(event);
    expect(await adapters()).toEqual(event === 'queued' ? ['sql', '', 2000] : ['', 'sql', 2000]);
    request.end();
    expect(await adapters()).toEqual(['', '', 2001]);
  });

  it('is waiting and running at once where it has requests of both kinds, and stays until the last has gone', async () => {
    const { engine, at, adapters } = await startObserved();
    const requests = Array.from({ length: 3 }, () => engine.startRequest({ loraName: 'sql' }));
    at(2000);
    for (const request of requests) request.recordEvent('queued');
    at(2001);
    requests[0]!.recordEvent('scheduled');
    expect(await adapters()).toEqual(['sql', 'sql', 2001]);
    at(2002);
    requests[1]!.recordEvent('scheduled');
    requests[0]!.end();
    // Neither list has changed: the time of the last change stands.
    expect(await adapters()).toEqual(['sql', 'sql', 2001]);
    at(2003);
    requests[2]!.end('abort');
    expect(await adapters()).toEqual(['', 'sql', 2003]);
    at(2004);
    requests[1]!.end();
    expect(await adapters()).toEqual(['', '', 2004]);
  });

  it('is listed by name, over all engines of the instrumentation', async () => {
    const { vllm, adapters } = await startObserved();
    for (const [index, loraName, event] of [
      [0, 'zulu', 'queued'],
      [3, 'alpha', 'queued'],
      [0, 'mike', 'scheduled'],
      [3, 'mike', 'scheduled'],
      [1, 'alpha', 'scheduled'],
      [1, 'Bravo', 'queued'],
    ] as const) {
      vllm.engine(index).startRequest({ loraName }).recordEvent(event);
    }
    expect(await adapters()).toEqual(['Bravo,alpha,zulu', 'alpha,mike', 1000]);
    vllm.removeEngine(3);
    expect(await adapters()).toEqual(['Bravo,zulu', 'alpha,mike', 1000]);
  });

  it('of several choices is there until the last of them has ended', async () => {
    const { engine, at, adapters } = await startObserved();
    const request = engine.startRequest({ loraName: 'sql', n: 2 });
    at(2000);
    for (const choice of request.choices) choice.recordEvent('scheduled');
    request.choices[0]!.end();
    expect(await adapters()).toEqual(['', 'sql', 2000]);
    at(2001);
    request.choices[1]!.end();
    expect(await adapters()).toEqual(['', '', 2001]);
  });

  it('is not moved by an event after the end, or one that is none', async () => {
    const { engine, adapters, dropped } = await startObserved();
    const request = engine.startRequest({ loraName: 'sql' });
    request.recordEvent('finished' as 'queued');
    expect(await adapters()).toEqual(['', '', 1000]);
    request.end();
    request.recordEvent('scheduled');
    expect(await adapters()).toEqual(['', '', 1000]);
    expect(dropped()).toEqual({ unknownEvent: 1, afterEnd: 1 });
  });

  it('that is none leaves its request without one', async () => {
    const { engine, read, dropped } = startService();
    engine.startRequest({ loraName: '' }).recordEvent('queued');
    expect(shown(await read())).toBeUndefined();
    expect(dropped()).toEqual({ invalidValue: 1 });
  });
});

describe('a disabled instrumentation', () => {
  it('ends its LoRA requests, and moves nothing from then on', async () => {
    const { vllm, engine, at, adapters } = await startObserved();
    const request = engine.startRequest({ loraName: 'sql' });
    request.recordEvent('scheduled');
    at(2000);
    vllm.disable();
    expect(await adapters()).toEqual(['', '', 2000]);
    at(2001);
    const unrecorded = engine.startRequest({ loraName: 'sql' });
    expect(unrecorded.recordEvent('scheduled')).toBe(true);
    expect(await adapters()).toEqual(['', '', 2000]);
    vllm.enable();
    unrecorded.end();
    expect(await adapters()).toEqual(['', '', 2000]);
    engine.startRequest({ loraName: 'chat' }).recordEvent('queued');
    expect(await adapters()).toEqual(['chat', '', 2001]);
  });

  it('brings up no series for its requests', async () => {
    const { vllm, engine, read } = startService();
    vllm.disable();
    engine.startRequest({ loraName: 'sql' }).end();
    vllm.enable();
    expect(shown(await read())).toBeUndefined();
  });
});
