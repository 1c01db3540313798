import { expect, it } from 'vitest';
import { formatBar } from '../../../examples/demo/bar.ts';

it.each([
  [0, ''],
  [0.0001, '▏'],
  [0.125, '▌'],
  [0.25, '█'],
  [0.5, '██'],
  [0.6, '██▍'],
  [1, '████'],
])('draws %d of four characters as "%s"', (share, bar) => {
  expect(formatBar(share, 4)).toBe(bar);
});
