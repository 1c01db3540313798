import { describe, expect, it } from 'vitest';
import { ExpositionWriter } from '../../src/prometheus/exposition-writer.ts';
import { SpareWriter } from '../../src/prometheus/spare-writer.ts';

function filled(length: number): ExpositionWriter {
  const writer = new ExpositionWriter();
  writer.text('x'.repeat(length));
  return writer;
}

describe('SpareWriter', () => {
  it('hands out what was given back, empty, and to one at a time', () => {
    const spare = new SpareWriter();
    const writer = filled(10_000);
    spare.give(writer);
    expect(spare.take()).toBe(writer);
    expect(writer.length).toBe(0);
    expect(spare.take()).not.toBe(writer);
  });

  it.each([
    ['first', [100_000, 10_000]],
    ['last', [10_000, 100_000]],
  ])('keeps the larger of two, given back %s', (_when, lengths) => {
    const spare = new SpareWriter();
    const writers = lengths.map(filled);
    for (const writer of writers) spare.give(writer);
    expect(spare.take()).toBe(writers[lengths.indexOf(100_000)]);
  });

  it('drops one of which less than a fourth was used', () => {
    const spare = new SpareWriter();
    const writer = filled(100_000);
    const use = (length: number): ExpositionWriter => {
      writer.clear();
      writer.text('x'.repeat(length));
      spare.give(writer);
      return spare.take();
    };
    expect(use(writer.capacity / 4)).toBe(writer);
    expect(use(writer.capacity / 4 - 1)).not.toBe(writer);
  });
});
