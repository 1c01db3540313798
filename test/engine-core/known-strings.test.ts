import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KnownStrings } from '../../src/engine-core/known-strings.ts';

/** Reads bytes from the middle of a frame, and counts the strings that are made. */
function start(): { read: (bytes: Uint8Array | string) => string; made: () => number } {
  const known = new KnownStrings();
  let made = 0;
  const read = (bytes: Uint8Array | string): string => {
    const text = Buffer.from(bytes as string);
    const frame = Buffer.concat([Buffer.from([1, 2, 3]), text, Buffer.from([4])]);
    const { toString } = frame;
    frame.toString = (...range) => {
      made += 1;
      return toString.apply(frame, range);
    };
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    return known.read(frame, view, 3, 3 + text.length);
  };
  return { read, made: () => made };
}

describe('KnownStrings', () => {
  it('makes a string once, however often its bytes come', () => {
    const { read, made } = start();
    const ids = Array.from({ length: 20 }, (_, index) => `chatcmpl-${index}-5f3a9c`);
    for (let step = 0; step < 10; step += 1) expect(ids.map(read)).toEqual(ids);
    expect(made()).toBe(20);
  });

  it.each([
    [3, 2],
    [4, 1],
    [64, 1],
    [65, 2],
  ])('of %i bytes makes %i strings of two', (length, count) => {
    const { read, made } = start();
    const text = 'i'.repeat(length);
    expect([read(text), read(text)]).toEqual([text, text]);
    expect(made()).toBe(count);
  });

  it('tells apart what ends alike, and what is a part of another', () => {
    const { read } = start();
    const alike = ['12345678', '012345678', 'a-12345678', 'b-12345678', `${'x'.repeat(56)}12345678`];
    alike.push(`y${'x'.repeat(55)}12345678`, 'a-b-12345678', 'a-c-12345678');
    for (let step = 0; step < 3; step += 1) expect(alike.map(read)).toEqual(alike);
  });

  it('gives what decoding gives, for any bytes in any order', () => {
    const { read } = start();
    const tails = ['12345678', 'ABCDEFGH', '\u00e9\u00e8\u00ea\u00eb'].map((text) => Buffer.from(text));
    const bytes = fc
      .tuple(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...tails, Buffer.alloc(0)))
      .map((parts) => Buffer.concat(parts));
    const property = fc.property(fc.array(bytes, { minLength: 1, maxLength: 20 }), (all) => {
      for (const one of [...all, ...all.toReversed()]) expect(read(one)).toBe(one.toString('utf8'));
    });
    fc.assert(property, { numRuns: 200 });
  });
});
