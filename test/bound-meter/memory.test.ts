import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { collect } from './collected.ts';

const KILOBYTE = 1024;

function usedAfterCollectingGarbage(): number {
  globalThis.gc!();
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

describe('memory', () => {
  it('is not allocated by recording through what is bound', () => {
    const meter = new BoundMeterProvider().getMeter('test');
    const counter = meter.createCounter('c').bind({ a: '1' });
    const upDown = meter.createUpDownCounter('u').bind({ a: '1' });
    const gauge = meter.createGauge('g').bind({ a: '1' });
    const histogram = meter.createHistogram('h').bind({ a: '1' });
    // Kept as objects, so that passing one on makes none; with something else among them, or they would be unpacked.
    const values: readonly unknown[] = [0.5, 1.25, 30.5, 7, 900.75, 'no number'];
    const recordMany = (times: number): void => {
      for (let time = 0; time < times; time += 1) {
        const value = values[time % 5] as number;
        counter.add(value);
        upDown.add(value);
        gauge.record(value);
        histogram.record(value);
      }
    };
    recordMany(300_000);
    const before = usedAfterCollectingGarbage();
    recordMany(300_000);
    // At 12 bytes a number this would be 14 megabytes.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(512 * KILOBYTE);
  });

  it('does not grow with the collections of others while a producer does not collect', async () => {
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    const histogram = meter.createHistogram('h');
    meter.createObservableCounter('c').addCallback((result) => result.observe(Date.now()));
    const [cumulative, delta, idle]: MetricProducer[] = [
      provider.producer(),
      provider.producer({ temporality: 'delta' }),
      provider.producer({ temporality: 'delta' }),
    ];
    await collect(idle!);
    const cycle = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        for (let a = 0; a < 20; a += 1) histogram.record(time, { a });
        await collect(cumulative!);
        await collect(delta!);
      }
    };
    await cycle(500);
    const before = usedAfterCollectingGarbage();
    await cycle(2000);
    expect(usedAfterCollectingGarbage() - before).toBeLessThan(512 * KILOBYTE);
    expect((await collect(idle!)).histogram('h', { a: 19 }).count).toBe(2500);
  });

  it('does not grow with series that come and go', async () => {
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    const producer = provider.producer({ temporality: 'delta' });
    let round = 0;
    meter.createObservableGauge('g').addCallback((result) => result.observe(1, { round }));
    const cycle = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        round += 1;
        const bound = meter.createHistogram('h').bind({ round, other: `${round}` });
        bound.record(1);
        await collect(producer);
        bound.unbind();
      }
    };
    await cycle(1000);
    const before = usedAfterCollectingGarbage();
    await cycle(4000);
    expect(usedAfterCollectingGarbage() - before).toBeLessThan(512 * KILOBYTE);
  });
});
