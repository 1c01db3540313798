import { describe, expect, it } from 'vitest';
import type { RangeSeries } from './promql-client.ts';
import { differencesOf } from './same-answers.ts';

const SERIES: RangeSeries = {
  labels: { __name__: 'x', engine: '0' },
  values: [
    [15, 1],
    [30, 2],
  ],
};

describe('differencesOf', () => {
  it('finds none where labels, times and values are the same, in whatever order', () => {
    const other = { labels: { engine: '1' }, values: [[15, Infinity]] } as const;
    const turned = { ...SERIES, labels: { engine: '0', __name__: 'x' } };
    expect(differencesOf([SERIES, other], [other, turned])).toEqual([]);
  });

  it.each<[string, RangeSeries[], string[]]>([
    [
      'a series that is missing',
      [],
      [
        '{"__name__":"x","engine":"0"} @ 15: 1 and nothing',
        '{"__name__":"x","engine":"0"} @ 30: 2 and nothing',
      ],
    ],
    [
      'a sample that is missing',
      [{ ...SERIES, values: [[15, 1]] }],
      ['{"__name__":"x","engine":"0"} @ 30: 2 and nothing'],
    ],
    [
      'a value that is another from the ninth digit on',
      [
        {
          ...SERIES,
          values: [
            [15, 1.00000001],
            [30, 2.000000001],
          ],
        },
      ],
      ['{"__name__":"x","engine":"0"} @ 15: 1 and 1.00000001'],
    ],
    [
      'a label too many',
      [{ labels: { __name__: 'x', engine: '0', job: 'vllm' }, values: [[15, 1]] }, SERIES],
      ['{"__name__":"x","engine":"0","job":"vllm"} @ 15: nothing and 1'],
    ],
    [
      'another time',
      [
        {
          ...SERIES,
          values: [
            [15, 1],
            [30.001, 2],
          ],
        },
      ],
      [
        '{"__name__":"x","engine":"0"} @ 30: 2 and nothing',
        '{"__name__":"x","engine":"0"} @ 30.001: nothing and 2',
      ],
    ],
  ])('finds %s', (_, second, differences) => {
    expect(differencesOf([SERIES], second)).toEqual(differences);
  });

  it('takes an infinity for no number near it', () => {
    const values = (value: number): RangeSeries[] => [{ labels: {}, values: [[15, value]] }];
    expect(differencesOf(values(Infinity), values(1e300))).toEqual(['{} @ 15: Infinity and 1e+300']);
  });
});
