import { describe, expect, it } from 'vitest';
import { ExpositionWriter } from '../../src/prometheus/exposition-writer.ts';

describe('ExpositionWriter', () => {
  it('writes text, samples and buckets, one after the other', () => {
    const writer = new ExpositionWriter();
    writer.text('# HELP ü 😀\n');
    writer.sample(Buffer.from('c_total{a="é"} '), 12);
    writer.bucket(Buffer.from('h_bucket{le="'), Buffer.from('0.5"} '), 3);
    writer.sample(Buffer.from('h_sum '), 0.1 + 0.2);
    expect(writer.written.toString()).toBe(`# HELP ü 😀
c_total{a="é"} 12.0
h_bucket{le="0.5"} 3.0
h_sum 0.30000000000000004
`);
    expect(writer.length).toBe(Buffer.byteLength(writer.written.toString()));
  });

  it.each<[string, string, (writer: ExpositionWriter) => void]>([
    ['text', 'text\n', (writer) => writer.text('text\n')],
    ['a sample', 's 1.0\n', (writer) => writer.sample(Buffer.from('s '), 1)],
    ['a bucket', 'b 1.0\n', (writer) => writer.bucket(Buffer.from('b'), Buffer.from(' '), 1)],
  ])('keeps what has been written where it makes room for %s', (_what, line, write) => {
    const writer = new ExpositionWriter();
    const { capacity } = writer;
    const full = 'x'.repeat(capacity - 2);
    writer.text(full);
    expect(writer.capacity).toBe(capacity);
    write(writer);
    expect(writer.capacity).toBeGreaterThanOrEqual(2 * capacity);
    expect(writer.written.toString()).toBe(full + line);
  });

  it('writes over what it held once it is cleared, in the same memory', () => {
    const writer = new ExpositionWriter();
    writer.text('the first');
    const first = writer.written;
    writer.clear();
    expect(writer.length).toBe(0);
    writer.text('A');
    expect(writer.written.toString()).toBe('A');
    expect(first.toString()).toBe('Ahe first');
  });
});
