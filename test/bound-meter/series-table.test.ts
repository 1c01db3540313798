import type { Attributes } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { SeriesTable, type Attributed } from '../../src/bound-meter/series-table.ts';

function start(limit = 10) {
  const overflows: number[] = [];
  const table = new SeriesTable<Attributed>(
    limit,
    (attributes) => ({ attributes }),
    () => overflows.push(1),
  );
  return { table, overflows };
}

describe('a series', () => {
  it('is found by the very object again, and by one that says the same', () => {
    const { table } = start();
    const attributes = Object.freeze({ a: '1', b: 2 });
    const series = table.resolve(attributes);
    expect(table.resolve(attributes)).toBe(series);
    expect(table.resolve({ b: 2, a: '1' })).toBe(series);
    expect([...table.all]).toEqual([{ attributes: { a: '1', b: 2 } }]);
  });

  it.each<[string, () => { attributes: Attributes; change: () => void }]>([
    [
      'was changed',
      () => {
        const attributes: Attributes = { a: 1 };
        return { attributes, change: () => void (attributes['a'] = 2) };
      },
    ],
    [
      'is frozen, but not the list in it',
      () => {
        const list = ['x'];
        return { attributes: Object.freeze({ a: list }), change: () => void list.push('y') };
      },
    ],
    [
      'is frozen, but says another value each time',
      () => {
        let value = 1;
        const attributes = Object.freeze({
          get a() {
            return value;
          },
        });
        return { attributes, change: () => void (value = 2) };
      },
    ],
    [
      'is sealed alone',
      () => {
        const attributes: Attributes = Object.seal({ a: 1 });
        return { attributes, change: () => void (attributes['a'] = 2) };
      },
    ],
  ])('is another one for an object that %s', (_what, make) => {
    const { table } = start();
    const { attributes, change } = make();
    const before = table.resolve(attributes);
    expect(table.resolve(attributes)).toBe(before);
    change();
    const after = table.resolve(attributes);
    expect(after).not.toBe(before);
    expect([...table.all]).toEqual([before, after]);
  });

  it.each<[string, unknown]>([
    ['bytes', Buffer.from('ab')],
    [
      'an object with a JSON text of its own',
      Object.assign(Object.create({ toJSON: () => 'x' }) as object, { a: 1 }),
    ],
    ['what cannot be copied', { call: () => {} }],
  ])('is found again, and deleted, by attributes with %s in them', (_what, value) => {
    const { table } = start();
    const attributes = { a: value } as Attributes;
    const series = table.resolve(attributes);
    expect(table.resolve({ ...attributes })).toBe(series);
    table.delete(series);
    expect([...table.all]).toEqual([]);
    const next = table.resolve(attributes);
    expect(next).not.toBe(series);
    expect([...table.all]).toEqual([next]);
  });

  it('is the one without attributes for what is no attributes, or cannot be read', () => {
    const { table } = start();
    const none = table.resolve({});
    const unreadable = {
      get a(): never {
        throw new Error('not today');
      },
    };
    for (const given of [5, 'abc', true, Symbol('s'), 1n, null, undefined, unreadable]) {
      expect(table.resolve(given as Attributes)).toBe(none);
    }
    expect([...table.all]).toEqual([{ attributes: {} }]);
  });

  it('that was deleted is made anew for the same object', () => {
    const { table } = start();
    const attributes = Object.freeze({ a: '1' });
    const first = table.resolve(attributes);
    table.delete(first);
    expect([...table.all]).toEqual([]);
    const second = table.resolve(attributes);
    expect(second).not.toBe(first);
    expect(table.resolve(attributes)).toBe(second);
    expect([...table.all]).toEqual([second]);
  });

  it('that did not fit has a place as soon as there is one, also for the same object', () => {
    const { table, overflows } = start(1);
    const first = table.resolve(Object.freeze({ a: '1' }));
    const late = Object.freeze({ a: '2' });
    expect(table.isOverflow(table.resolve(late))).toBe(true);
    expect(table.isOverflow(table.resolve(late))).toBe(true);
    expect(overflows).toHaveLength(2);
    table.delete(first);
    expect(table.resolve(late).attributes).toEqual({ a: '2' });
  });
});
