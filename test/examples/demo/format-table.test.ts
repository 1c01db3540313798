import { expect, it } from 'vitest';
import { formatTable } from '../../../examples/demo/format-table.ts';

it('aligns the first column left and the others right', () => {
  const rows = [
    ['name', 'n', 'long title'],
    ['a', '100', '1'],
    ['longer', '2', '3'],
  ];
  expect(formatTable(rows)).toBe(
    ['   name       n   long title', '   a        100            1', '   longer     2            3'].join(
      '\n',
    ),
  );
});
