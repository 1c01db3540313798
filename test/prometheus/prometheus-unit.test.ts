import { describe, expect, it } from 'vitest';
import { prometheusUnit } from '../../src/prometheus/prometheus-unit.ts';

describe('prometheusUnit', () => {
  it.each([
    ['', ''],
    ['s', 'seconds'],
    ['ms', 'milliseconds'],
    ['By', 'bytes'],
    ['MiBy', 'mebibytes'],
    ['By/s', 'bytes_per_second'],
    ['m/s', 'meters_per_second'],
    ['{request}', ''],
    ['{request}/s', 'per_second'],
    ['{a}/{b}', ''],
    ['By{transmitted}', 'bytes'],
    ['1/s', 'per_second'],
    ['%', 'percent'],
    ['Cel', 'celsius'],
    ['requests', 'requests'],
    ['widgets/day', 'widgets_per_day'],
    ['kilo-widgets²', 'kilo_widgets'],
  ])('calls %j %j', (unit, name) => {
    expect(prometheusUnit(unit, true)).toBe(name);
    expect(prometheusUnit(unit, false)).toBe(name);
  });

  it('calls 1 a ratio for gauges only', () => {
    expect(prometheusUnit('1', true)).toBe('ratio');
    expect(prometheusUnit('1', false)).toBe('');
  });
});
