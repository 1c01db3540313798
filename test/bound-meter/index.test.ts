import type { Context, Counter, Gauge, Histogram, MeterProvider, UpDownCounter } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InstrumentType,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as boundMeter from '../../src/bound-meter/index.ts';
import { INSTRUMENT_KINDS, POINT_TYPE, TEMPORALITY } from '../../src/bound-meter/sdk-constants.ts';

describe('the bound-meter entry', () => {
  it('exports the provider alone', () => {
    expect(Object.keys(boundMeter)).toEqual(['BoundMeterProvider']);
    expectTypeOf<boundMeter.BoundMeterProvider>().toExtend<MeterProvider>();
    expectTypeOf<ReturnType<boundMeter.BoundMeterProvider['producer']>>().toEqualTypeOf<MetricProducer>();
    expectTypeOf<boundMeter.BoundMeterProvider['dropped']>().toEqualTypeOf<
      Readonly<Record<'negative' | 'notFinite' | 'notNumber', number>>
    >();
  });

  it('types instruments as those of the API, and bound ones without attributes', () => {
    const meter = new boundMeter.BoundMeterProvider().getMeter('test');
    const counter = meter.createCounter<{ a: string }>('counter');
    expectTypeOf(counter).toExtend<Counter<{ a: string }>>();
    expectTypeOf(counter.bind).parameter(0).toEqualTypeOf<{ a: string } | undefined>();
    expectTypeOf(counter.bind({ a: '1' }).add).toEqualTypeOf<(value: number, context?: Context) => void>();
    expectTypeOf(meter.createUpDownCounter('upDown')).toExtend<UpDownCounter>();
    expectTypeOf(meter.createGauge('gauge')).toExtend<Gauge>();
    expectTypeOf(meter.createHistogram('histogram')).toExtend<Histogram>();
    const bound = meter.createHistogram('histogram').bind();
    expectTypeOf(bound.record).toEqualTypeOf<(value: number, context?: Context) => void>();
    expectTypeOf(bound.unbind).toEqualTypeOf<() => void>();
  });
});

describe('the values of the SDK that are written down here', () => {
  it('are those of the SDK', () => {
    expect(POINT_TYPE).toEqual({
      histogram: DataPointType.HISTOGRAM,
      gauge: DataPointType.GAUGE,
      sum: DataPointType.SUM,
    });
    expect(TEMPORALITY).toEqual({
      delta: AggregationTemporality.DELTA,
      cumulative: AggregationTemporality.CUMULATIVE,
    });
    expect([...INSTRUMENT_KINDS].sort()).toEqual(Object.values(InstrumentType).sort());
  });
});
