import { describe, expect, it } from 'vitest';
import { jsonText } from '../../src/metrics/json-text.ts';

const cyclic: { self?: object } = {};
cyclic.self = cyclic;

describe('jsonText', () => {
  it.each<[value: unknown, text: string]>([
    [['a', 1, true, null], '["a",1,true,null]'],
    [true, 'true'],
    [undefined, ''],
    [() => {}, ''],
    [Symbol('s'), ''],
    [1n, '[object BigInt]'],
    [[1n], '[object Array]'],
    [cyclic, '[object Object]'],
    [
      {
        toJSON: () => {
          throw new Error('not today');
        },
      },
      '[object Object]',
    ],
  ])('writes %o', (value, text) => {
    expect(jsonText(value)).toBe(text);
  });
});
