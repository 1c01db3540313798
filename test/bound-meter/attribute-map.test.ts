import type { Attributes } from '@opentelemetry/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AttributeMap, pathOf } from '../../src/bound-meter/attribute-map.ts';

const cyclic: { self?: object } = {};
cyclic.self = cyclic;

/** Sets of attributes of which no two are the same. */
const DISTINCT: readonly object[] = [
  {},
  { a: '1' },
  { a: 1 },
  { a: 1n },
  { a: true },
  { a: 'true' },
  { a: null },
  { a: 'null' },
  { a: '' },
  { '': '' },
  { a: ['1'] },
  { a: [1] },
  { a: '["1"]' },
  { a: [] },
  { a: {} },
  { a: { b: 1 } },
  { a: cyclic },
  { a: [1n] },
  { b: '1' },
  { a: '1', b: '1' },
  { a: '1', b: '2' },
  { 'a,b': '1' },
  { a: '1,b:1' },
  { a: Number.NaN },
  { a: Number.POSITIVE_INFINITY },
  { a: '1', b: '1', c: '1', d: '1' },
];

/** Pairs that are the same set of attributes. */
const SAME: readonly (readonly [object, object])[] = [
  [
    { a: '1', b: 2 },
    { b: 2, a: '1' },
  ],
  [
    { d: 1, c: 2, b: 3, a: 4 },
    { b: 3, d: 1, a: 4, c: 2 },
  ],
  [{ a: undefined }, { a: null }],
  [{ a: 0 }, { a: -0 }],
  [{ a: ['1', 2] }, { a: ['1', 2] }],
  [{ a: Number.NaN }, { a: Number.NaN }],
  [{ a: '1' }, Object.assign(Object.create({ inherited: 1 }) as object, { a: '1' })],
];

describe('AttributeMap', () => {
  it('keeps apart what differs in a key, a value or the type of a value', () => {
    const map = new AttributeMap<number>();
    for (const [index, attributes] of DISTINCT.entries()) {
      expect(map.get(pathOf(attributes as Attributes)), `${index}`).toBeUndefined();
      map.set(pathOf(attributes as Attributes), index);
    }
    for (const [index, attributes] of DISTINCT.entries())
      expect(map.get(pathOf(attributes as Attributes))).toBe(index);
  });

  it.each(SAME)('takes %o for %o', (one, other) => {
    const map = new AttributeMap<number>();
    map.set(pathOf(one as Attributes), 1);
    expect(map.get(pathOf(other as Attributes))).toBe(1);
    map.set(pathOf(other as Attributes), 2);
    expect(map.get(pathOf(one as Attributes))).toBe(2);
  });

  it('finds what a map of sorted JSON texts finds, whatever is set and deleted', () => {
    const attributes = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', 1, true, false), {
      maxKeys: 3,
    });
    const text = (one: object): string =>
      JSON.stringify(Object.entries(one).sort((l, r) => (l[0] < r[0] ? -1 : 1)));
    const step = fc.record({ attributes, isDeletion: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const map = new AttributeMap<number>();
        const model = new Map<string, number>();
        for (const [index, { attributes: one, isDeletion }] of steps.entries()) {
          if (isDeletion) {
            map.delete(pathOf(one));
            model.delete(text(one));
          } else {
            map.set(pathOf(one), index);
            model.set(text(one), index);
          }
          for (const { attributes: other } of steps)
            expect(map.get(pathOf(other))).toBe(model.get(text(other)));
        }
      }),
    );
  });
});
