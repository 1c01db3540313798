import { assert, double, integer, oneof, property, sample, tuple } from 'fast-check';
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { formatCount, formatFixed } from '../../src/stats-log/format-fixed.ts';
import { hasProgram } from '../support/has-program.ts';

const hasPython = hasProgram('python3', ['--version'], 'Debian package python3');
const hasPrintf = hasProgram('/usr/bin/printf', ['%.1f', '0.25'], 'Debian package coreutils');

/** Any double, and many that lie halfway between two decimals, or a few doubles beside. */
const doubles = oneof(
  double(),
  double({ min: -1e6, max: 1e6, noNaN: true }),
  tuple(integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), integer({ min: 0, max: 12 })).map(
    ([odd, bits]) => odd / 2 ** bits,
  ),
  tuple(integer({ min: 0, max: 2 ** 21 }), integer({ min: 0, max: 4 }), integer({ min: -4, max: 4 })).map(
    ([whole, digits, steps]) => besides((whole + 0.5) / 10 ** digits, steps),
  ),
);

/** The double so many steps away. */
function besides(value: number, steps: number): number {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(value);
  buffer.writeBigInt64BE(buffer.readBigInt64BE() + BigInt(steps));
  return buffer.readDoubleBE();
}

describe('formatFixed', () => {
  it.each<[number, number, string]>([
    [0.25, 1, '0.2'],
    [0.35, 1, '0.3'],
    [0.75, 1, '0.8'],
    [0.05, 1, '0.1'],
    [0.15, 1, '0.1'],
    [-0.25, 1, '-0.2'],
    [-0.75, 1, '-0.8'],
    [0.5, 0, '0'],
    [1.5, 0, '2'],
    [2.5, 0, '2'],
    [-2.5, 0, '-2'],
    [0.125, 2, '0.12'],
    [0.375, 2, '0.38'],
    [1.005, 2, '1.00'],
    [2.675, 2, '2.67'],
    [0.0625, 3, '0.062'],
    [0.1875, 3, '0.188'],
    [9.96, 1, '10.0'],
    [9.75, 1, '9.8'],
    [99.95, 1, '100.0'],
    [0, 1, '0.0'],
    [-0, 1, '-0.0'],
    [-0, 0, '-0'],
    [-0.04, 1, '-0.0'],
    [5e-324, 1, '0.0'],
    [5e-324, 3, '0.000'],
    [1e15 + 0.5, 0, '1000000000000000'],
    [2 ** 53, 1, '9007199254740992.0'],
    [1e20, 1, '100000000000000000000.0'],
    [1e21, 1, '1000000000000000000000.0'],
    [1e21, 0, '1000000000000000000000'],
    [-1e21, 2, '-1000000000000000000000.00'],
    [1e23, 1, '99999999999999991611392.0'],
    [Number.MAX_VALUE, 0, BigInt(Number.MAX_VALUE).toString()],
    [NaN, 1, 'nan'],
    [Infinity, 1, 'inf'],
    [-Infinity, 2, '-inf'],
  ])('writes %d with %d digits as %s', (value, digits, text) => {
    expect(formatFixed(value, digits)).toBe(text);
  });

  it.skipIf(!hasPython)("writes every double as Python's % operator does", () => {
    const digits = oneof(integer({ min: 0, max: 4 }), integer({ min: 0, max: 20 }));
    const cases = sample(tuple(doubles, digits), 40_000);
    const program =
      "import json,sys,struct\nprint(json.dumps(['%.*f' % (d, struct.unpack('>d', bytes.fromhex(h))[0]) for h, d in json.load(sys.stdin)]))";
    const { stdout } = spawnSync('python3', ['-c', program], {
      input: JSON.stringify(cases.map(([value, places]) => [hexOf(value), places])),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(cases.map((given) => formatFixed(...given))).toEqual(JSON.parse(stdout));
  });

  it.skipIf(!hasPrintf)("writes the halves of a tenth as the system's printf does", () => {
    const values = Array.from({ length: 400 }, (_, index) => (index - 200) / 8);
    const { stdout } = spawnSync('/usr/bin/printf', ['%.1f\n', ...values.map(String)], {
      env: { LC_ALL: 'C' },
      encoding: 'utf8',
    });
    expect(values.map((value) => formatFixed(value, 1))).toEqual(stdout.trimEnd().split('\n'));
  });

  it('is never further than half a unit of its last digit from the value', () => {
    assert(
      property(double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
        expect(Math.abs(Number(formatFixed(value, 3)) - value)).toBeLessThanOrEqual(0.000_500_1);
      }),
    );
  });
});

describe('formatCount', () => {
  it.each<[number, string]>([
    [0, '0'],
    [-0, '0'],
    [-0.5, '0'],
    [7, '7'],
    [7.9, '7'],
    [-7.9, '-7'],
    [2 ** 53 + 2, '9007199254740994'],
    [1e21, '1000000000000000000000'],
    [NaN, 'nan'],
    [Infinity, 'inf'],
  ])('writes %d as %s', (value, text) => {
    expect(formatCount(value)).toBe(text);
  });
});

function hexOf(value: number): string {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(value);
  return buffer.toString('hex');
}
