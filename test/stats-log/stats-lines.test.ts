import { describe, expect, it } from 'vitest';
import { statsLines } from '../../src/stats-log/stats-lines.ts';
import { intervalOf, observedBy, whole } from './intervals.ts';

const ALL_SUBJECTS = intervalOf({
  engines: 3,
  promptTokens: 10,
  flopsPerGpu: 3e13,
  observed: observedBy((accumulator) => {
    accumulator.observeSpecDecode({ num_drafts: 1, num_draft_tokens: 2, num_accepted_tokens: 1 });
    accumulator.observeCudagraph({
      num_unpadded_tokens: 1,
      num_padded_tokens: 1,
      num_paddings: 0,
      runtime_mode: 'FULL',
    });
    accumulator.observeNixl({ num_failed_transfers: [1] });
  }),
});

describe('the lines on an interval', () => {
  it('are the main one alone where there is nothing else to tell', () => {
    const options = { style: 'rust', level: 'debug', elapsedSeconds: 10, engine: undefined } as const;
    expect(statsLines(intervalOf({}), options).map(whole)).toEqual([
      {
        kind: 'throughput',
        level: 'debug',
        text: 'Avg prompt tput: 0.0 toks/s, Avg generation tput: 0.0 toks/s, Reqs Running: 0, Waiting: 0, GPU KV cache used: 0.0%, Prefix cache hit rate: 0.0%',
        attributes: expect.objectContaining({
          'vllm.stats.interval_seconds': 10,
          'vllm.stats.engines': 1,
        }) as object,
      },
    ]);
  });

  it('come in one order, at one level', () => {
    const options = { style: 'python', level: 'info', elapsedSeconds: 10, engine: undefined } as const;
    const lines = statsLines(ALL_SUBJECTS, options);
    expect(lines.map(({ kind, level, text }) => [kind, level, text.slice(0, 11)])).toEqual([
      ['throughput', 'info', 'Avg prompt '],
      ['spec_decode', 'info', 'SpecDecodin'],
      ['mfu', 'info', 'MFU: 1.0 TF'],
      ['cudagraph', 'info', '**CUDAGraph'],
      ['kv_transfer', 'info', 'KV Transfer'],
    ]);
    expect(lines.map(({ attributes }) => attributes()['vllm.stats.engines'])).toEqual([3, 3, 3, 3, 3]);
  });

  it.each([
    [0, 'Engine 000: '],
    [7, 'Engine 007: '],
    [128, 'Engine 128: '],
    [65_535, 'Engine 65535: '],
  ])('on engine %d all begin with %s', (engine, prefix) => {
    const options = { style: 'python', level: 'info', elapsedSeconds: 10, engine } as const;
    const [all, one] = [undefined, engine].map((index) =>
      statsLines(ALL_SUBJECTS, { ...options, engine: index }),
    );
    expect(one!.map(({ text }) => text)).toEqual(all!.map(({ text }) => prefix + text));
    for (const { attributes } of one!.map(whole)) {
      expect(attributes['vllm.stats.engine']).toBe(engine);
      expect(attributes).not.toHaveProperty('vllm.stats.engines');
    }
  });
});
