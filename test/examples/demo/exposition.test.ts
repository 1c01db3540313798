import { describe, expect, it } from 'vitest';
import { parseExposition, sumOf } from '../../../examples/demo/exposition.ts';

const sample = (name: string, labels: Readonly<Record<string, string>>, value: number) => ({
  name,
  labels: new Map(Object.entries(labels)),
  value,
});

describe('parseExposition', () => {
  it.each([
    ['up 1', sample('up', {}, 1)],
    [
      'vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.25',
      sample('vllm:kv_cache_usage_perc', { model_name: 'm', engine: '0' }, 0.25),
    ],
    ['a_bucket{le="+Inf"} 1e+06', sample('a_bucket', { le: '+Inf' }, 1e6)],
    ['a +Inf', sample('a', {}, Infinity)],
    [
      'a{x="comma, \\"quote\\" } and \\\\ back\\nline"} -1',
      sample('a', { x: 'comma, "quote" } and \\ back\nline' }, -1),
    ],
  ])('reads %s', (line, expected) => {
    expect(parseExposition(`${line}\n`)).toEqual([expected]);
  });

  it('passes comments and empty lines over', () => {
    expect(parseExposition('# HELP a Something.\n# TYPE a gauge\n\na 1\n# EOF\n')).toEqual([
      sample('a', {}, 1),
    ]);
  });
});

describe('sumOf', () => {
  const samples = [
    sample('a', { x: '1', y: '1' }, 1),
    sample('a', { x: '1', y: '2' }, 2),
    sample('b', { x: '1' }, 4),
  ];

  it('adds the samples of one name up over the labels that are not given', () => {
    expect(sumOf(samples, 'a')).toBe(3);
    expect(sumOf(samples, 'a', { x: '1' })).toBe(3);
    expect(sumOf(samples, 'a', { x: '1', y: '2' })).toBe(2);
    expect(sumOf(samples, 'a', { z: '1' })).toBe(0);
  });
});
