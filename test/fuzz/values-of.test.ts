import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { FRAMES, fromHex } from '../engine-core/frames.ts';
import { valuesOf } from './values-of.ts';

// One is no MessagePack, and one holds what the library refuses.
const PARSED = [...FRAMES].filter(([title]) => title !== 'dead' && title !== 'statistics');

describe('the values of a frame', () => {
  it('are found at every depth', () => {
    const frame = fromHex(['92 ; a list', 'cd 01 2c', '81 ; a map', 'a1 61', 'c7 01 05 00']);
    const texts = valuesOf(frame).map(({ start, end }) => frame.toString('hex', start, end));
    expect(texts).toEqual(['cd012c', 'a161', 'c7010500', '81a161c7010500', frame.toString('hex')]);
  });

  it.each(PARSED)('are each what a library takes for a value: %s', (_, frame) => {
    const values = valuesOf(frame);
    expect(values.at(-1)).toEqual({ start: 0, end: frame.length });
    for (const { start, end } of values) expect(() => decode(frame.subarray(start, end))).not.toThrow();
  });

  it.each(PARSED)('are none where the frame is cut off: %s', (_, frame) => {
    expect(valuesOf(frame.subarray(0, -1))).toEqual([]);
  });
});
