import { createNoopMeter, ROOT_CONTEXT, trace, type Context, type Histogram } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { Drops } from '../../src/metrics/drops.ts';
import { HistogramSeries } from '../../src/metrics/histogram-series.ts';
import { exemplarsBeside, seriesKey } from '../../src/metrics/shared-exemplars.ts';

const ATTRIBUTES = Object.freeze({ model_name: 'test-model', engine: '0' });

/** An instrument as a provider with Bind offers it; the API has none yet. */
function bindable(): { instrument: Histogram; bound: object[]; recorded: unknown[][]; unbound: unknown[][] } {
  const bound: object[] = [];
  const recorded: unknown[][] = [];
  const unbound: unknown[][] = [];
  const instrument = {
    record: (...call: unknown[]): void => void unbound.push(call),
    bind: (attributes: object) => {
      bound.push(attributes);
      return { record: (...call: unknown[]): void => void recorded.push(call) };
    },
  };
  return { instrument, bound, recorded, unbound };
}

describe('HistogramSeries', () => {
  it('binds an instrument that can be bound once, and records through it without attributes', () => {
    const { instrument, bound, recorded, unbound } = bindable();
    const series = new HistogramSeries(ATTRIBUTES, new Drops());
    series.connect(instrument);
    const context: Context = trace.setSpanContext(ROOT_CONTEXT, { traceId: '1', spanId: '2', traceFlags: 1 });
    for (let value = 1; value <= 3; value += 1) series.record(value, context);
    expect(bound).toEqual([ATTRIBUTES]);
    expect(bound[0]).toBe(ATTRIBUTES);
    expect(recorded).toEqual([
      [1, context],
      [2, context],
      [3, context],
    ]);
    expect(unbound).toEqual([]);
  });

  it('carries the same frozen attributes along where an instrument cannot be bound', () => {
    const calls: unknown[][] = [];
    const series = new HistogramSeries(ATTRIBUTES, new Drops());
    series.connect({ record: (...call: unknown[]): void => void calls.push(call) });
    series.record(4, ROOT_CONTEXT);
    expect(calls).toHaveLength(2);
    expect(calls[0]?.[0]).toBeNaN();
    expect(calls[1]).toEqual([4, ATTRIBUTES, ROOT_CONTEXT]);
    expect(calls.every((call) => call[1] === ATTRIBUTES)).toBe(true);
  });

  it('records nowhere until connected and after being disconnected', () => {
    const { instrument, recorded } = bindable();
    const series = new HistogramSeries(ATTRIBUTES, new Drops());
    series.record(1, ROOT_CONTEXT);
    series.connect(instrument);
    series.connect(undefined);
    series.record(2, ROOT_CONTEXT);
    expect(recorded).toEqual([]);
  });

  it("takes the API's no-op instrument", () => {
    const drops = new Drops();
    const series = new HistogramSeries(ATTRIBUTES, drops);
    series.connect(createNoopMeter().createHistogram('x'));
    series.record(1, ROOT_CONTEXT);
    expect(drops.snapshot().providerError).toBe(0);
  });

  it('counts each record that throws, and goes on', () => {
    const drops = new Drops();
    const values: number[] = [];
    const series = new HistogramSeries(ATTRIBUTES, drops);
    series.connect({
      record: (value: number): void => {
        if (value === 2) throw new Error('no two today');
        values.push(value);
      },
    });
    for (const value of [1, 2, 3]) series.record(value, ROOT_CONTEXT);
    expect(values).toEqual([Number.NaN, 1, 3]);
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('records many of a value at once where the bound instrument can', () => {
    const calls: unknown[][] = [];
    const drops = new Drops();
    const series = new HistogramSeries(ATTRIBUTES, drops);
    const bound = {
      record: (...call: unknown[]): void => void calls.push(call),
      recordMany: (...call: unknown[]): void => {
        calls.push(call);
        if (call[0] === 3) throw new Error('no three today');
      },
    };
    series.connect({ record: (): void => {}, bind: () => bound } as Histogram);
    series.recordMany(2, 5, ROOT_CONTEXT);
    series.recordMany(3, 5, ROOT_CONTEXT);
    series.record(4, ROOT_CONTEXT);
    expect(calls).toEqual([
      [2, 5, ROOT_CONTEXT],
      [3, 5, ROOT_CONTEXT],
      [4, ROOT_CONTEXT],
    ]);
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('records many of a value one by one where the instrument knows no other way, and goes on after one that throws', () => {
    const { instrument, recorded } = bindable();
    const series = new HistogramSeries(ATTRIBUTES, new Drops());
    series.recordMany(1, 2, ROOT_CONTEXT);
    series.connect(instrument);
    series.recordMany(2, 3, ROOT_CONTEXT);
    expect(recorded).toEqual([
      [2, ROOT_CONTEXT],
      [2, ROOT_CONTEXT],
      [2, ROOT_CONTEXT],
    ]);
    const drops = new Drops();
    const failing = new HistogramSeries(ATTRIBUTES, drops);
    const values: number[] = [];
    failing.connect({
      record: (value: number): void => {
        values.push(value);
        if (values.length === 3) throw new Error('not this one');
      },
    });
    failing.recordMany(5, 3, ROOT_CONTEXT);
    expect(values).toEqual([Number.NaN, 5, 5, 5]);
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('keeps recording into an instrument that refuses only the NaN which makes the series exist', () => {
    const drops = new Drops();
    const values: number[] = [];
    const series = new HistogramSeries(ATTRIBUTES, drops);
    series.connect({
      record: (value: number): void => {
        if (Number.isNaN(value)) throw new RangeError('not a number');
        values.push(value);
      },
    });
    series.record(1, ROOT_CONTEXT);
    expect(values).toEqual([1]);
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('counts a bind that throws, and records nowhere then', () => {
    const drops = new Drops();
    const series = new HistogramSeries(ATTRIBUTES, drops);
    const instrument = {
      record: (): void => {},
      bind: (): never => {
        throw new Error('unbindable');
      },
    };
    series.connect(instrument);
    series.record(1, ROOT_CONTEXT);
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('unbinds what it recorded into when it is closed, and records nowhere from then on', () => {
    const recorded: number[] = [];
    let unbound = 0;
    const instrument = {
      record: () => {},
      bind: () => ({
        record: (value: number): void => void recorded.push(value),
        unbind: (): void => void (unbound += 1),
      }),
    };
    const series = new HistogramSeries(ATTRIBUTES, new Drops());
    series.connect(instrument);
    series.record(1, ROOT_CONTEXT);
    series.close();
    series.record(2, ROOT_CONTEXT);
    series.close();
    expect(recorded).toEqual([1]);
    expect(unbound).toBe(1);
  });

  it('counts an instrument that fails to unbind', () => {
    const drops = new Drops();
    const series = new HistogramSeries(ATTRIBUTES, drops);
    const instrument = {
      record: () => {},
      bind: () => ({
        record: () => {},
        unbind: (): never => {
          throw new Error('bound for good');
        },
      }),
    };
    series.connect(instrument);
    series.close();
    expect(drops.snapshot().providerError).toBe(1);
  });

  it('keeps exemplars beside an instrument that cannot be bound, for as long as it records into it', () => {
    const key = seriesKey('vllm:kept_beside', ATTRIBUTES);
    const series = new HistogramSeries(ATTRIBUTES, new Drops(), { key, boundaries: [1, 5] });
    const kept = (): unknown => exemplarsBeside(key)?.byBucket.map((exemplar) => exemplar?.value);
    const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
    const sampled = trace.setSpanContext(ROOT_CONTEXT, span);
    const instrument = { record: () => {} };
    series.connect(instrument);
    series.record(1, ROOT_CONTEXT);
    expect(kept()).toEqual([]);
    series.record(3, sampled);
    series.recordMany(0.5, 2, sampled);
    expect(kept()).toEqual([0.5, 3]);
    series.connect(undefined);
    expect(kept()).toBeUndefined();
    series.connect(instrument);
    expect(kept()).toEqual([]);
    series.connect(instrument);
    series.close();
    expect(kept()).toBeUndefined();
  });

  it('leaves exemplars to an instrument that can be bound', () => {
    const key = seriesKey('vllm:kept_by_the_provider', ATTRIBUTES);
    const series = new HistogramSeries(ATTRIBUTES, new Drops(), { key, boundaries: [1] });
    series.connect(bindable().instrument);
    expect(exemplarsBeside(key)).toBeUndefined();
  });
});
