import { assert, double, property } from 'fast-check';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatNumber } from '../../src/prometheus/format-number.ts';

const fixture = new URL('../../../shared/fixtures/vllm-0.30-python-live.prom', import.meta.url);

describe('formatNumber', () => {
  it.each([
    [0, '0.0'],
    [-0, '-0.0'],
    [1, '1.0'],
    [-1, '-1.0'],
    [10, '10.0'],
    [34, '34.0'],
    [0.25, '0.25'],
    [0.001, '0.001'],
    [0.0001, '0.0001'],
    [0.00012345, '0.00012345'],
    [0.00001, '1e-05'],
    [1e-10, '1e-10'],
    [0.1 + 0.2, '0.30000000000000004'],
    [100_000, '100000.0'],
    [123_456.7, '123456.7'],
    [999_999, '999999.0'],
    [999_999.5, '999999.5'],
    [1e6, '1e+06'],
    [1_014_573, '1.014573e+06'],
    [1_234_567.25, '1.23456725e+06'],
    [2 ** 33, '8.589934592e+09'],
    [1e10, '1e+10'],
    [12_345_678_901, '1.2345678901e+10'],
    [Number.MAX_SAFE_INTEGER, '9.007199254740991e+15'],
    [1e21, '1e+21'],
    [1e23, '1e+23'],
    [1.1e23, '1.1e+23'],
    [-5.5, '-5.5'],
    [-1e6, '-1e+06'],
    [-0.00001, '-1e-05'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [Number.MIN_VALUE, '5e-324'],
    [NaN, 'NaN'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
  ])('spells %s as %s', (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });

  it('loses no digit, and always shows that it is a float', () => {
    assert(
      property(double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = formatNumber(value);
        expect(Number(text)).toBe(value);
        expect(text).toMatch(/^-?\d+(\.\d+|(\.\d+)?e[+-]\d\d+)$/);
      }),
    );
  });

  it.skipIf(!existsSync(fixture))("spells every value and le of a real vLLM server's text as it does", () => {
    const lines = readFileSync(fixture, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const values = lines.map((line) => line.slice(line.lastIndexOf(' ') + 1));
    const numbers = values.concat(lines.flatMap(leOf));
    expect(numbers.length).toBeGreaterThan(600);
    expect(numbers.map((text) => formatNumber(text === '+Inf' ? Infinity : Number(text)))).toEqual(numbers);
  });
});

function leOf(line: string): string[] {
  const le = /le="([^"]*)"/.exec(line)?.[1];
  return le === undefined ? [] : [le];
}
