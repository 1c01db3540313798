import { ROOT_CONTEXT, trace, type Context, type Histogram } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { Drops } from '../../src/metrics/drops.ts';
import { HistogramRun } from '../../src/metrics/histogram-run.ts';
import { HistogramSeries } from '../../src/metrics/histogram-series.ts';

/** A run into a series whose instrument tells its calls. */
function start(): { run: HistogramRun; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const series = new HistogramSeries(Object.freeze({ engine: '0' }), new Drops());
  const bound = {
    record: (): void => {},
    recordMany: (...call: unknown[]): void => void calls.push(call),
  };
  series.connect({ record: (): void => {}, bind: () => bound } as Histogram);
  return { run: new HistogramRun(series), calls };
}

describe('HistogramRun', () => {
  it('records equal values that follow each other at once, each run when it is over', () => {
    const { run, calls } = start();
    for (const value of [0.5, 0.5, 0.5, 0, 0.5]) run.record(value, ROOT_CONTEXT);
    expect(calls).toEqual([
      [0.5, 3, ROOT_CONTEXT],
      [0, 1, ROOT_CONTEXT],
    ]);
    run.flush();
    expect(calls[2]).toEqual([0.5, 1, ROOT_CONTEXT]);
  });

  it('begins anew after a flush, also with the same value', () => {
    const { run, calls } = start();
    run.flush();
    for (let step = 1; step <= 2; step += 1) {
      for (let output = 0; output < step; output += 1) run.record(2, ROOT_CONTEXT);
      run.flush();
      run.flush();
    }
    expect(calls).toEqual([
      [2, 1, ROOT_CONTEXT],
      [2, 2, ROOT_CONTEXT],
    ]);
  });

  it('keeps the values of each Context apart', () => {
    const { run, calls } = start();
    const sampled: Context = trace.setSpanContext(ROOT_CONTEXT, { traceId: '1', spanId: '2', traceFlags: 1 });
    for (const context of [ROOT_CONTEXT, sampled, sampled, ROOT_CONTEXT]) run.record(1, context);
    run.flush();
    run.record(1, sampled);
    run.flush();
    expect(calls).toEqual([
      [1, 1, ROOT_CONTEXT],
      [1, 2, sampled],
      [1, 1, ROOT_CONTEXT],
      [1, 1, sampled],
    ]);
  });
});
