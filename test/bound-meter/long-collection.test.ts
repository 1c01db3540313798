import { describe, expect, it } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { collect } from './collected.ts';

const METRICS = 40;
/** So many that a collection takes many times the millisecond after which it gives way. */
const SERIES = 1000;

describe('a long collection', () => {
  it('lets the event loop turn, and is right about what is recorded meanwhile', async () => {
    const provider = new BoundMeterProvider();
    const meter = provider.getMeter('test');
    const names = Array.from({ length: METRICS }, (_, index) => `h${index}`);
    const histograms = names.map((name) => meter.createHistogram(name));
    for (const histogram of histograms) {
      for (let series = 0; series < SERIES; series += 1) histogram.bind({ series }).record(series);
    }
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      for (const histogram of histograms) {
        histogram.record(1, { series: 0 });
        histogram.bind({ madeAtTurn: turns });
      }
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const delta = provider.producer({ temporality: 'delta' });
    const during = await collect(delta);
    const cumulative = await collect(provider.producer());
    clearImmediate(next);
    expect(turns).toBeGreaterThan(3);
    const after = await collect(delta);
    for (const name of names) {
      const counts = [during, after].map((collected) =>
        collected.points(name).length === 0 ? 0 : collected.histogram(name, { series: 0 }).count,
      );
      expect(counts[0]! + counts[1]!).toBe(1 + turns);
      for (const { startTime, endTime } of cumulative.points(name)) {
        expect(endTime[0] * 1e9 + endTime[1]).toBeGreaterThanOrEqual(startTime[0] * 1e9 + startTime[1]);
      }
    }
  });
});
