import { setImmediate } from 'node:timers/promises';
import type {
  BatchObservableCallback,
  Meter,
  ObservableCallback,
  ObservableResult,
} from '@opentelemetry/api';
import { describe, expect, it, vi } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { collect, Collected } from './collected.ts';

function start(callbackTimeoutMillis?: number) {
  const provider = new BoundMeterProvider({ callbackTimeoutMillis });
  return {
    provider,
    meter: provider.getMeter('test'),
    cumulative: provider.producer(),
    delta: provider.producer({ temporality: 'delta' }),
  };
}

/** A gauge that says 1 as long as it can. */
function createGauge(
  meter: Meter,
  name: string,
  callback: ObservableCallback = (result) => result.observe(1),
): void {
  meter.createObservableGauge(name).addCallback(callback);
}

const never = (): Promise<void> => new Promise(() => {});

describe('callbacks', () => {
  it('are called once per collection and producer, however often they were registered', async () => {
    const { meter, cumulative, delta } = start();
    const gauge = meter.createObservableGauge('g');
    let calls = 0;
    const callback = (result: ObservableResult): void => {
      calls += 1;
      result.observe(calls);
    };
    gauge.addCallback(callback);
    gauge.addCallback(callback);
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{}': 1 });
    expect((await collect(delta)).numbers('g')).toEqual({ '{}': 2 });
    expect(calls).toBe(2);
    gauge.removeCallback(callback);
    expect((await collect(cumulative)).names).toEqual([]);
    expect(calls).toBe(2);
  });

  it('of several instruments are identified with them, in any order, and can observe them alone', async () => {
    const { meter, cumulative } = start();
    const [one, two, other] = ['one', 'two', 'other'].map((name) => meter.createObservableGauge(name));
    let calls = 0;
    const callback: BatchObservableCallback = (result) => {
      calls += 1;
      for (const gauge of [one, two, other]) result.observe(gauge!, calls, { a: '1' });
    };
    meter.addBatchObservableCallback(callback, [one!, two!]);
    meter.addBatchObservableCallback(callback, [two!, one!]);
    expect((await collect(cumulative)).names).toEqual(['one', 'two']);
    expect(calls).toBe(1);
    meter.removeBatchObservableCallback(callback, [one!]);
    meter.removeBatchObservableCallback(callback, [one!, two!, other!]);
    expect((await collect(cumulative)).numbers('two')).toEqual({ '{"a":"1"}': 2 });
    meter.removeBatchObservableCallback(callback, [two!, one!]);
    expect((await collect(cumulative)).names).toEqual([]);
  });

  it('of one instrument and of several are not mistaken for each other', async () => {
    const { meter, cumulative } = start();
    const gauge = meter.createObservableGauge('g');
    let calls = 0;
    const callback = (): void => {
      calls += 1;
    };
    gauge.addCallback(callback);
    meter.addBatchObservableCallback(callback, [gauge]);
    await collect(cumulative);
    expect(calls).toBe(2);
    gauge.removeCallback(callback);
    await collect(cumulative);
    expect(calls).toBe(3);
  });

  it('cannot observe what is of another provider, or of none', async () => {
    const lines = captureDiag();
    const { meter, cumulative } = start();
    const foreign = new BoundMeterProvider();
    const stranger = foreign.getMeter('test').createObservableGauge('stranger');
    const own = meter.createObservableGauge('own');
    const observeBoth: BatchObservableCallback = (result) => {
      for (const gauge of [own, stranger]) result.observe(gauge, 1);
    };
    meter.addBatchObservableCallback(observeBoth, [stranger]);
    meter.addBatchObservableCallback(observeBoth, []);
    expect(lines).toEqual(
      Array.from({ length: 2 }).fill(
        'opentelemetry-instrumentation-vllm: a callback was registered without an observable of this provider',
      ),
    );
    meter.addBatchObservableCallback(observeBoth, [stranger, own]);
    expect((await collect(cumulative)).names).toEqual(['own']);
    expect((await collect(foreign.producer())).names).toEqual([]);
  });

  it('may observe asynchronously, all at once, and are waited for', async () => {
    const { meter, cumulative } = start();
    const order: string[] = [];
    for (const name of ['one', 'two']) {
      createGauge(meter, name, async (result) => {
        order.push(`${name} begins`);
        await Promise.resolve();
        order.push(`${name} observes`);
        result.observe(1);
      });
    }
    expect((await collect(cumulative)).names).toEqual(['one', 'two']);
    expect(order).toEqual(['one begins', 'two begins', 'one observes', 'two observes']);
  });

  it('may be registered and removed by one another', async () => {
    const { meter, cumulative } = start();
    const gauge = meter.createObservableGauge('g');
    const second = (result: ObservableResult): void => result.observe(2);
    const first = (result: ObservableResult): void => {
      result.observe(1);
      gauge.removeCallback(first);
      gauge.addCallback(second);
    };
    gauge.addCallback(first);
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{}': 1 });
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{}': 2 });
  });

  it('have their last observation of a series stand, of all callbacks in the order of registration', async () => {
    const { meter, cumulative } = start();
    const counter = meter.createObservableCounter('c');
    counter.addCallback(async (result) => {
      await Promise.resolve();
      result.observe(3, { a: 1, b: 2 });
      result.observe(5, { b: 2, a: 1 });
    });
    counter.addCallback((result) => result.observe(7, { a: 1, b: 2 }));
    expect((await collect(cumulative)).numbers('c')).toEqual({ '{"a":1,"b":2}': 7 });
  });

  it('have their attributes taken as they are when they observe', async () => {
    const { meter, cumulative } = start();
    createGauge(meter, 'g', (result) => {
      const attributes = { a: 0 };
      for (; attributes.a < 3; attributes.a += 1) result.observe(attributes.a, attributes);
    });
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{"a":0}': 0, '{"a":1}': 1, '{"a":2}': 2 });
  });

  it('are not listened to once they have returned', async () => {
    const { meter, cumulative } = start();
    let kept: ObservableResult | undefined;
    createGauge(meter, 'g', (result) => {
      result.observe(1);
      kept = result;
    });
    createGauge(meter, 'late', async () => {
      await Promise.resolve();
      kept?.observe(2);
    });
    expect((await collect(cumulative)).numbers('g')).toEqual({ '{}': 1 });
  });
});

describe('a callback that fails', () => {
  it.each<[string, ObservableCallback]>([
    [
      'throws',
      (result) => {
        result.observe(1);
        throw new Error('out of order');
      },
    ],
    [
      'rejects',
      async (result) => {
        result.observe(1);
        await Promise.reject(new Error('out of order'));
      },
    ],
  ])('as it %s costs only its own metrics, and is reported', async (_, callback) => {
    const { meter, cumulative } = start();
    meter.createCounter('c').add(1);
    createGauge(meter, 'bad', callback);
    createGauge(meter, 'good');
    const result = await cumulative.collect();
    expect(result.errors).toEqual([new Error('out of order')]);
    expect(new Collected(result).names).toEqual(['c', 'good']);
  });

  it('may throw anything, undefined as well', async () => {
    const { meter, cumulative } = start();
    createGauge(meter, 'bad', () => {
      // eslint-disable-next-line no-throw-literal
      throw undefined as unknown as Error;
    });
    expect((await cumulative.collect()).errors).toEqual([undefined]);
  });

  it('loses nothing of what it counts: the next delta begins where the last reported one ended', async () => {
    const { meter, delta } = start();
    let value = 5;
    meter.createObservableCounter('c').addCallback((result) => {
      if (value === 8) throw new Error('out of order');
      result.observe(value);
    });
    expect((await collect(delta)).numbers('c')).toEqual({ '{}': 5 });
    value = 8;
    expect((await delta.collect()).errors).toHaveLength(1);
    value = 12;
    expect((await collect(delta)).numbers('c')).toEqual({ '{}': 7 });
  });

  it('holds no series that it never got to report', async () => {
    captureDiag();
    const provider = new BoundMeterProvider({ cardinalityLimit: 2 });
    const producer = provider.producer();
    let isBad = true;
    let a = 0;
    createGauge(provider.getMeter('test'), 'g', (result) => {
      result.observe(1, { a: (a += 1) });
      if (isBad) throw new Error('out of order');
    });
    for (let round = 0; round < 5; round += 1) await producer.collect();
    isBad = false;
    expect((await collect(producer)).numbers('g')).toEqual({ '{"a":6}': 1 });
  });
});

describe('a callback that hangs', () => {
  it('costs only its own metrics once the time is over, and is reported', async () => {
    vi.useFakeTimers();
    try {
      const { meter, cumulative } = start();
      meter.createCounter('c').add(1);
      const [one, two] = ['one', 'two'].map((name) => meter.createObservableGauge(name));
      meter.addBatchObservableCallback(never, [one!, two!]);
      createGauge(meter, 'good');
      const collection = cumulative.collect();
      await vi.advanceTimersByTimeAsync(4999);
      let isDone = false;
      void collection.then(() => (isDone = true));
      await vi.advanceTimersByTimeAsync(0);
      expect(isDone).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      const result = await collection;
      expect(result.errors).toEqual([new Error('the callback of one, two took longer than 5000 ms')]);
      expect(new Collected(result).names).toEqual(['c', 'good']);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    { option: undefined, given: 100, limit: 100 },
    { option: 50, given: undefined, limit: 50 },
    { option: 50, given: 100, limit: 50 },
    { option: 200, given: 100, limit: 100 },
  ])(
    'is waited for $limit ms where the option is $option and the reader gives $given',
    async ({ option, given, limit }) => {
      vi.useFakeTimers();
      try {
        const { meter, cumulative } = start(option);
        createGauge(meter, 'g', never);
        const collection = cumulative.collect(given === undefined ? {} : { timeoutMillis: given });
        await vi.advanceTimersByTimeAsync(limit);
        expect((await collection).errors).toEqual([
          new Error(`the callback of g took longer than ${limit} ms`),
        ]);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it('is not called again until it has ended, and costs no further time', async () => {
    vi.useFakeTimers();
    try {
      const { meter, cumulative, delta } = start();
      let calls = 0;
      let release = (): void => {};
      createGauge(meter, 'slow', async (result) => {
        calls += 1;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        result.observe(calls);
      });
      const first = cumulative.collect();
      await vi.advanceTimersByTimeAsync(5000);
      await first;
      const errors = [new Error('the callback of slow is still at an earlier collection')];
      for (let round = 0; round < 3; round += 1) expect((await cumulative.collect()).errors).toEqual(errors);
      expect(calls).toBe(1);
      // What it observes now was of an earlier collection.
      release();
      await vi.advanceTimersByTimeAsync(0);
      const next = cumulative.collect();
      await vi.advanceTimersByTimeAsync(0);
      release();
      expect(new Collected(await next).numbers('slow')).toEqual({ '{}': 2 });
      // Another producer is not concerned.
      const other = delta.collect();
      await vi.advanceTimersByTimeAsync(0);
      release();
      expect(new Collected(await other).numbers('slow')).toEqual({ '{}': 3 });
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not keep the time running after one that was only slow', async () => {
    vi.useFakeTimers();
    try {
      const { meter, cumulative } = start();
      createGauge(meter, 'g', async (result) => {
        await Promise.resolve();
        result.observe(1);
      });
      await collect(cumulative);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('collections of one producer', () => {
  it('come one after another, so that each delta is reported once', async () => {
    const { meter, delta } = start();
    const running: number[] = [];
    let value = 0;
    let calls = 0;
    meter.createObservableCounter('observed').addCallback(async (result) => {
      running.push((calls += 1));
      await setImmediate();
      result.observe((value += 10));
      calls -= 1;
    });
    meter.createCounter('c').add(1);
    const [first, second] = [collect(delta), collect(delta)];
    expect((await first).numbers('c')).toEqual({ '{}': 1 });
    expect((await first).numbers('observed')).toEqual({ '{}': 10 });
    expect((await second).numbers('c')).toEqual({});
    expect((await second).numbers('observed')).toEqual({ '{}': 10 });
    expect(running).toEqual([1, 1]);
  });
});

describe('observable counters', () => {
  it('report what came since the last collection of the producer, whatever others were told', async () => {
    const { provider, meter, delta } = start();
    const other = provider.producer({ temporality: 'delta' });
    let value = 0;
    meter.createObservableCounter('c').addCallback((result) => result.observe(value));
    for (const [producer, next, expected] of [
      [delta, 5, 5],
      [other, 8, 8],
      [delta, 9, 4],
      [delta, 9, 0],
      [other, 20, 12],
    ] as const) {
      value = next;
      expect((await collect(producer)).numbers('c')).toEqual({ '{}': expected });
    }
  });

  it('that fall were reset: the delta is what they show, and the cumulative value has a new start', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    try {
      const { meter, cumulative, delta } = start();
      let value = 10;
      meter.createObservableCounter('c').addCallback((result) => result.observe(value));
      const at = async (seconds: number, producer: typeof delta) => {
        vi.setSystemTime(seconds * 1000);
        const [point] = (await collect(producer)).points('c');
        return [point!.value, point!.startTime[0], point!.endTime[0]];
      };
      expect(await at(1, delta)).toEqual([10, 0, 1]);
      expect(await at(1, cumulative)).toEqual([10, 0, 1]);
      value = 12;
      expect(await at(2, delta)).toEqual([2, 1, 2]);
      expect(await at(2, cumulative)).toEqual([12, 0, 2]);
      value = 3;
      expect(await at(3, delta)).toEqual([3, 2, 3]);
      expect(await at(3, cumulative)).toEqual([3, 2, 3]);
      value = 4;
      expect(await at(4, cumulative)).toEqual([4, 2, 4]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('begin a series that is new at the last collection, and one that is back anew', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    try {
      const { meter, cumulative } = start();
      let observed: readonly number[] = [1];
      meter.createObservableCounter('c').addCallback((result) => {
        for (const a of observed) result.observe(a, { a });
      });
      const starts = async (seconds: number, ...next: number[]) => {
        observed = next;
        vi.setSystemTime(seconds * 1000);
        const points = (await collect(cumulative)).points('c');
        return points.map(({ attributes, startTime }) => [attributes['a'], startTime[0]]);
      };
      expect(await starts(1, 1)).toEqual([[1, 0]]);
      expect(await starts(2, 1, 2)).toEqual([
        [1, 0],
        [2, 1],
      ]);
      expect(await starts(3, 2)).toEqual([[2, 1]]);
      expect(await starts(4, 1, 2)).toEqual([
        [2, 1],
        [1, 3],
      ]);
    } finally {
      vi.useRealTimers();
    }
  });
});
