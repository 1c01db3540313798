import { describe, expect, it } from 'vitest';
import { requireOption } from '../../src/metrics/require-option.ts';

describe('requireOption', () => {
  it('says nothing of a valid value', () => {
    expect(() => requireOption('port', 'a number', 1, true)).not.toThrow();
  });

  it.each([
    ['a number', 70_000, '70000'],
    ['text, in quotes', '9464', '"9464"'],
    ['nothing', undefined, 'undefined'],
    ['an object without a prototype', Object.create(null), 'object'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
  ])('names option, expectation and value for %s', (_, value, shown) => {
    expect(() => requireOption('port', 'a whole number', value, false)).toThrow(
      new TypeError(`port must be a whole number; got ${shown}`),
    );
  });
});
