import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import { roundRobin } from '../../../examples/simulated-engine/load-balancer.ts';
import { Random } from '../../../examples/simulated-engine/random.ts';
import type { RequestRecord } from '../../../examples/simulated-engine/request-log.ts';
import { Simulation, type SimulationEvent } from '../../../examples/simulated-engine/simulation.ts';
import { contentOf } from '../../../examples/simulated-engine/token-sequence.ts';
import {
  generateWorkload,
  withHangUps,
  type WorkloadRequest,
} from '../../../examples/simulated-engine/workload.ts';

const COST = { perStep: 1, perPrefillToken: 0, perDecode: 0, perContextToken: 0 };

const request = (id: string, arrival: number, more: Partial<WorkloadRequest> = {}): WorkloadRequest => ({
  id,
  arrival,
  prompt: [{ content: contentOf(id), tokens: 8 }],
  outputTokens: 3,
  ...more,
});

const createEngines = (count: number, kvBlocks = 100): SimulatedEngine[] =>
  Array.from(
    { length: count },
    (_, index) => new SimulatedEngine({ index, kvBlocks, cost: COST, clockOffset: 1000 }),
  );

/** One line per event. */
const tell = (event: SimulationEvent): string => {
  if (event.kind === 'arrival') return `${event.at} ${event.request.id} to ${event.engine}`;
  if (event.kind === 'rejection') return `${event.at} ${event.request.id} rejected`;
  if (event.kind === 'abort') return `${event.at} ${event.id} aborted`;
  const outputs = event.message.outputs?.map((output) => output.request_id) ?? [];
  return `${event.at} ${event.message.engine_index} sends ${outputs.join(' ') || 'nothing'}`;
};

const run = (workload: Iterable<WorkloadRequest>, engines = createEngines(1)) => {
  const simulation = new Simulation({ engines, workload, transitSeconds: 0.25 });
  return { events: Array.from(simulation, tell), records: simulation.log.records, log: simulation.log };
};

describe('Simulation', () => {
  it('delivers arrivals and messages in the order of their times', () => {
    expect(run([request('a', 0.5), request('b', 1)]).events).toEqual([
      '0.5 a to 0',
      '1 b to 0',
      '1.75 0 sends a',
      '2.75 0 sends a b',
      '3.75 0 sends a b',
      '4.75 0 sends b',
    ]);
  });

  it('lets an engine rest when it has nothing to do, and wakes it when a request comes', () => {
    const { events } = run([request('a', 0, { outputTokens: 1 }), request('b', 7.5, { outputTokens: 1 })]);
    expect(events).toEqual(['0 a to 0', '1.25 0 sends a', '7.5 b to 0', '8.75 0 sends b']);
  });

  it('keeps a log of every request', () => {
    expect(run([request('a', 0.5, { maxTokens: 2 })]).records).toEqual([
      {
        id: 'a',
        engine: 0,
        arrival: 0.5,
        promptTokens: 8,
        maxTokens: 2,
        firstReceivedAt: 1.75,
        endedAt: 2.75,
        finishReason: 'length',
        ...Object.fromEntries(
          ['actual', 'reported'].map((name) => [
            name,
            {
              queuedAt: 1000.5,
              scheduledAt: 1000.5,
              firstTokenAt: 1001.5,
              lastTokenAt: 1002.5,
              cachedTokens: 0,
              generatedTokens: 2,
              preemptions: 0,
            },
          ]),
        ),
      },
    ]);
  });

  it('sends each request to the least loaded engine, or to whichever the load balancer says', () => {
    const workload = [0, 1, 2, 3].map((index) =>
      request(`r${index}`, 0, { outputTokens: index === 0 ? 9 : 1 }),
    );
    const engines = (loadBalancer?: ReturnType<typeof roundRobin>): number[] => {
      const simulation = new Simulation({
        engines: createEngines(2),
        workload,
        ...(loadBalancer && { loadBalancer }),
      });
      for (const event of simulation) void event;
      return simulation.log.records.map(({ engine }) => engine);
    };
    expect(engines()).toEqual([0, 1, 0, 1]);
    expect(engines(roundRobin())).toEqual([0, 1, 0, 1]);
    expect(engines(() => 1)).toEqual([1, 1, 1, 1]);
  });

  it('turns a request away that fits no engine', () => {
    const long = request('long', 1, { prompt: [{ content: 1n, tokens: 1600 }] });
    const { events, log } = run([request('a', 0, { outputTokens: 1 }), long]);
    expect(events).toEqual(['0 a to 0', '1 long rejected', '1.25 0 sends a']);
    expect([log.records.length, log.rejected, log.ended]).toEqual([1, 1, 1]);
  });

  it('goes on where an earlier iteration left off', () => {
    const simulation = new Simulation({
      engines: createEngines(1),
      workload: [request('a', 0), request('b', 5)],
    });
    for (const event of simulation) if (event.kind === 'message') break;
    const rest = Array.from(simulation, ({ kind }) => kind);
    expect(rest).toEqual(['message', 'message', 'arrival', 'message', 'message', 'message']);
  });
});

describe('a client that hangs up', () => {
  it('aborts after the given tokens and time; the output of the step under way comes too late', () => {
    const { events, records } = run([
      request('a', 0, { outputTokens: 9, hangUp: { afterTokens: 2, afterSeconds: 0.5 } }),
    ]);
    expect(events).toEqual([
      '0 a to 0',
      '1.25 0 sends a',
      '2.25 0 sends a',
      '2.75 a aborted',
      '3.25 0 sends a',
      '4.25 0 sends nothing',
    ]);
    expect(records).toMatchObject([
      {
        finishReason: 'abort',
        endedAt: 2.75,
        reported: { generatedTokens: 2, lastTokenAt: 1002 },
        actual: { generatedTokens: 3, lastTokenAt: 1003 },
      },
    ]);
  });

  it('aborts before the first token where it waits for none, and then nothing was reported', () => {
    const { events, records } = run([request('a', 0, { hangUp: { afterTokens: 0, afterSeconds: 0.5 } })]);
    expect(events.slice(0, 2)).toEqual(['0 a to 0', '0.5 a aborted']);
    expect(records).toMatchObject([{ finishReason: 'abort', firstReceivedAt: undefined }]);
    expect(records[0]?.reported).toEqual({ generatedTokens: 0, preemptions: 0 });
  });

  it('changes nothing where the answer was faster', () => {
    const { events, records } = run([request('a', 0, { hangUp: { afterTokens: 2, afterSeconds: 5 } })]);
    expect(events.filter((event) => event.includes('aborted'))).toEqual([]);
    expect(records).toMatchObject([{ finishReason: 'stop' }]);
  });

  it('takes a preemption into the grave of which no output could tell any more', () => {
    const [old, young] = ['old', 'young'].map((id) =>
      request(id, 0, { prompt: [{ content: contentOf(id), tokens: 31 }], outputTokens: 20 }),
    );
    const workload = [old!, { ...young!, hangUp: { afterTokens: 2, afterSeconds: 1.5 } }];
    const { records } = run(workload, createEngines(1, 4));
    expect(records).toMatchObject([
      { id: 'old', finishReason: 'stop' },
      { id: 'young', finishReason: 'abort', reported: { preemptions: 0 }, actual: { preemptions: 1 } },
    ]);
  });
});

/** Twenty seconds of two engines whose caches are too small. */
const simulate = (
  seed: number,
): { events: readonly SimulationEvent[]; records: readonly RequestRecord[] } => {
  const random = new Random(seed);
  const requests = generateWorkload({ rate: 10, duration: 20, random: random.fork() });
  const engines = [0, 1].map(
    (index) =>
      new SimulatedEngine({ index, kvBlocks: 512, reserveFullPrompt: false, clockOffset: index * 77 }),
  );
  const simulation = new Simulation({ engines, workload: withHangUps(requests, 0.1, random.fork()) });
  return { events: [...simulation], records: simulation.log.records };
};

describe('a whole run', () => {
  const { events, records } = simulate(1);

  it('is the same, message by message, for the same seed, and another for another', () => {
    expect(simulate(1)).toEqual({ events, records });
    expect(simulate(2).records.length).toBeGreaterThan(0);
    expect(simulate(2).records).not.toEqual(records);
  });

  it('ends every request, some after several preemptions, some aborted', () => {
    expect(records.filter(({ finishReason }) => finishReason === undefined)).toEqual([]);
    expect(new Set(records.map(({ finishReason }) => finishReason))).toEqual(
      new Set(['stop', 'length', 'abort']),
    );
    expect(Math.max(...records.map(({ reported }) => reported.preemptions))).toBeGreaterThan(2);
  });

  it('reports of a request that ran to its end all that happened to it', () => {
    const ran = records.filter(({ finishReason }) => finishReason !== 'abort');
    expect(ran.map(({ reported }) => reported)).toEqual(ran.map(({ actual }) => actual));
  });

  it('reports of an aborted request what happened, or less', () => {
    const aborted = records.filter(({ finishReason }) => finishReason === 'abort');
    expect(aborted.length).toBeGreaterThan(0);
    for (const { reported, actual } of aborted) {
      expect(reported.generatedTokens).toBeLessThanOrEqual(actual.generatedTokens);
      expect(reported.preemptions).toBeLessThanOrEqual(actual.preemptions);
    }
  });

  it('keeps the engine clock of each engine running forward', () => {
    for (const index of [0, 1]) {
      const messages = events.flatMap((event) => (event.kind === 'message' ? [event.message] : []));
      const times = messages
        .filter((message) => message.engine_index === index)
        .map(({ timestamp = 0 }) => timestamp);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(new Set(times).size).toBe(times.length);
    }
  });
});

describe('a cache that is far too small', () => {
  it('stops no request from ending', () => {
    const arbitrary = fc.record({
      kvBlocks: fc.integer({ min: 1, max: 6 }),
      maxNumBatchedTokens: fc.integer({ min: 1, max: 40 }),
      maxNumSeqs: fc.integer({ min: 1, max: 5 }),
      reserveFullPrompt: fc.boolean(),
      lengths: fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 })), {
        maxLength: 12,
      }),
    });
    fc.assert(
      fc.property(arbitrary, ({ lengths, ...limits }) => {
        const engine = new SimulatedEngine({ blockSize: 4, cost: COST, ...limits });
        const workload = lengths.map(([tokens, outputTokens], index) =>
          request(`r${index}`, index / 2, { prompt: [{ content: BigInt(index % 3), tokens }], outputTokens }),
        );
        const simulation = new Simulation({ engines: [engine], workload });
        let events = 0;
        for (const event of simulation) {
          events += event.kind === 'message' ? 1 : 0;
          expect(events).toBeLessThan(10_000);
        }
        const { records, rejected } = simulation.log;
        expect(records.length + rejected).toBe(lengths.length);
        for (const { finishReason, actual, reported, promptTokens } of records) {
          expect(finishReason).toMatch(/^(stop|length)$/);
          expect(promptTokens + actual.generatedTokens).toBeLessThanOrEqual(engine.maxModelLen);
          expect(reported).toEqual(actual);
        }
        expect(engine.load).toEqual({ waiting: 0, running: 0 });
      }),
      { numRuns: 200 },
    );
  });
});
