import { describe, expect, it } from 'vitest';
import type { IntervalAccumulator } from '../../src/engine/interval-accumulator.ts';
import { cudagraphTable } from '../../src/stats-log/cudagraph-table.ts';
import { intervalOf, observedBy, whole } from './intervals.ts';

function run(accumulator: IntervalAccumulator, times: number, tokens: number, padded: number, mode: string) {
  for (let time = 0; time < times; time += 1) {
    accumulator.observeCudagraph({
      num_unpadded_tokens: tokens,
      num_padded_tokens: padded,
      num_paddings: padded - tokens,
      runtime_mode: mode,
    });
  }
}

describe('the CUDA-graph table', () => {
  it('has a row for each kind of run, the most frequent first, in aligned columns', () => {
    const observed = observedBy((accumulator) => {
      run(accumulator, 2, 415, 415, 'NONE');
      run(accumulator, 31, 6, 8, 'FULL');
      run(accumulator, 2, 120_000_000_000_000, 120_000_000_000_008, 'CUDAGraphMode.PIECEWISE');
    });
    expect(whole(cudagraphTable(intervalOf({ observed })))).toEqual({
      kind: 'cudagraph',
      text: [
        '**CUDAGraph Stats:**',
        '',
        '| Unpadded Tokens | Padded Tokens   | Num Paddings | Runtime Mode            | Count |',
        '|-----------------|-----------------|--------------|-------------------------|-------|',
        '| 6               | 8               | 2            | FULL                    | 31    |',
        '| 415             | 415             | 0            | NONE                    | 2     |',
        '| 120000000000000 | 120000000000008 | 8            | CUDAGraphMode.PIECEWISE | 2     |',
      ].join('\n'),
      attributes: {
        'vllm.stats.cudagraph.unpadded_tokens': [6, 415, 120_000_000_000_000],
        'vllm.stats.cudagraph.padded_tokens': [8, 415, 120_000_000_000_008],
        'vllm.stats.cudagraph.paddings': [2, 0, 8],
        'vllm.stats.cudagraph.runtime_mode': ['FULL', 'NONE', 'CUDAGraphMode.PIECEWISE'],
        'vllm.stats.cudagraph.count': [31, 2, 2],
        'vllm.stats.cudagraph.others': 0,
      },
    });
  });

  it.each([
    [20, 22, undefined],
    [21, 23, '| Others          |               |              |              | 1     |'],
    [1030, 23, '| Others          |               |              |              | 1010  |'],
  ])('of %d kinds has %d lines below its title', (kinds, lines, last) => {
    const observed = observedBy((accumulator) => {
      for (let kind = 1; kind <= kinds; kind += 1) run(accumulator, 1, kind, 1030, 'FULL');
    });
    const table = cudagraphTable(intervalOf({ observed }))!.text.split('\n').slice(2);
    expect(table).toHaveLength(lines);
    expect(table[2]).toBe('| 1               | 1030          | 1029         | FULL         | 1     |');
    expect(table[21]).toBe('| 20              | 1030          | 1010         | FULL         | 1     |');
    expect(table[22]).toBe(last);
  });

  it('has the most frequent kinds of more than it shows, wherever they come, and adds up the others', () => {
    const observed = observedBy((accumulator) => {
      for (let kind = 1; kind <= 30; kind += 1) run(accumulator, kind, kind, 1030, 'FULL');
    });
    const { text, attributes } = whole(cudagraphTable(intervalOf({ observed })));
    expect(text.split('\n')[4]).toBe(
      '| 30              | 1030          | 1000         | FULL         | 30    |',
    );
    expect(text.split('\n').at(-1)).toBe(
      '| Others          |               |              |              | 55    |',
    );
    expect(attributes['vllm.stats.cudagraph.count']).toEqual(
      Array.from({ length: 20 }, (_, row) => 30 - row),
    );
    expect(attributes['vllm.stats.cudagraph.others']).toBe(55);
  });

  it('is as wide as its own rows need, whatever tables there were before', () => {
    const rowsOf = (mode: string, count: number): string[] => {
      const observed = observedBy((accumulator) => {
        run(accumulator, 1, 6, 8, 'FULL');
        run(accumulator, 1, 6, 8, mode);
      });
      const runs = [...observed.cudagraph!.runs].map(([key, one]) => [key, { ...one, count }] as const);
      const interval = intervalOf({
        observed: { ...observed, cudagraph: { runs: new Map(runs), others: 0 } },
      });
      return cudagraphTable(interval)!.text.split('\n').slice(4);
    };
    const narrow = [
      '| 6               | 8             | 2            | FULL         | 1     |',
      '| 6               | 8             | 2            | PIECEWISE    | 1     |',
    ];
    expect(rowsOf('PIECEWISE', 1)).toEqual(narrow);
    expect(rowsOf('CUDAGraphMode.FULL', 1)).toEqual([
      '| 6               | 8             | 2            | FULL               | 1     |',
      '| 6               | 8             | 2            | CUDAGraphMode.FULL | 1     |',
    ]);
    expect(rowsOf('PIECEWISE', 1_234_567)).toEqual([
      '| 6               | 8             | 2            | FULL         | 1234567 |',
      '| 6               | 8             | 2            | PIECEWISE    | 1234567 |',
    ]);
    expect(rowsOf('PIECEWISE', 1)).toEqual(narrow);
  });

  it('stays right where there were more kinds than rows are kept of', () => {
    for (let first = 0; first < 5000; first += 20) {
      const observed = observedBy((accumulator) => {
        for (let kind = first; kind < first + 20; kind += 1) run(accumulator, 1, kind, 9999, 'FULL');
      });
      const row = cudagraphTable(intervalOf({ observed }))!.text.split('\n')[4];
      expect(row).toBe(
        `| ${String(first).padEnd(15)} | 9999          | ${String(9999 - first).padEnd(12)} | FULL         | 1     |`,
      );
    }
  });

  it('is left out where no run was told of', () => {
    expect(cudagraphTable(intervalOf({ promptTokens: 5 }))).toBeUndefined();
  });
});
