import type { Attributes } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { labelText } from '../../src/prometheus/label-text.ts';

describe('labelText', () => {
  it.each<[attributes: Attributes, text: string]>([
    [{}, ''],
    [{ model_name: 'm', engine: '0' }, 'engine="0",model_name="m"'],
    [{ a: 'back\\slash "quote" line\nfeed' }, String.raw`a="back\\slash \"quote\" line\nfeed"`],
    [{ a: 'größer 😀' }, 'a="größer 😀"'],
    [{ a: '' }, 'a=""'],
    [{ n: 1, b: true, f: 0.5, x: NaN }, 'b="true",f="0.5",n="1",x="NaN"'],
    [{ list: ['x', 'y'] }, String.raw`list="[\"x\",\"y\"]"`],
    [{ a: undefined, b: 'x' }, 'b="x"'],
    [{ 'http.route': '/' }, 'http_route="/"'],
    [{ a_b: '3', 'a.b': '2', 'a-b': '1' }, 'a_b="1;2;3"'],
    [{ a__b: '1', __name__: 'x' }, '_name_="x",a_b="1"'],
    [{ '9lives': 'cat' }, 'key_9lives="cat"'],
  ])('writes %j', (attributes, text) => {
    expect(labelText(attributes)).toBe(text);
  });

  it('writes what has no JSON, without throwing', () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    const fails = {
      toJSON: (): never => {
        throw new Error('not today');
      },
    };
    const attributes: object = { big: 5n, cyclic, fails, list: [1n], run: () => {} };
    expect(labelText(attributes as Attributes)).toBe(
      'big="5",cyclic="[object Object]",fails="[object Object]",list="[object Array]",run=""',
    );
  });

  it('gives equal label sets equal texts, whatever the names they come from', () => {
    expect(labelText({ 'a.b': '1', a_a: '2' })).toBe(labelText({ a_b: '1', 'a.a': '2' }));
  });

  it('moves an attribute with a reserved name out of the way', () => {
    expect(labelText({ le: 'x', a: '1' }, 'le')).toBe('a="1",exported_le="x"');
    expect(labelText({ le: 'x' })).toBe('le="x"');
  });
});
