import { describe, expect, it } from 'vitest';
import { crossCheck } from '../../../examples/demo/cross-check.ts';
import { parseExposition } from '../../../examples/demo/exposition.ts';
import { createRecord } from './create-record.ts';

const RECORDS = [
  createRecord({ id: 'a', engine: 3, preemptions: 0, generatedTokens: 5, finishReason: 'stop' }),
  createRecord({ id: 'b', engine: 3, preemptions: 2, generatedTokens: 7, finishReason: 'abort' }),
];

const TEXT = `
vllm:request_num_preemptions_bucket{engine="3",le="1.0"} 1
vllm:request_num_preemptions_bucket{engine="3",le="2.0"} 2
vllm:request_num_preemptions_bucket{engine="3",le="+Inf"} 2
vllm:request_num_preemptions_count{engine="3"} 2
vllm:request_num_preemptions_sum{engine="3"} 2
vllm:num_preemptions_total{engine="3"} 2
vllm:generation_tokens_total{engine="3"} 12
vllm:request_success_total{engine="3",finished_reason="stop"} 1
vllm:request_success_total{engine="3",finished_reason="length"} 0
vllm:request_success_total{engine="3",finished_reason="abort"} 1
`;

const check = (text: string, records = RECORDS) => crossCheck(parseExposition(text), records);

describe('crossCheck', () => {
  it('finds nothing where the scrape is what the log says', () => {
    expect(check(TEXT)).toEqual([]);
  });

  it.each([
    [
      '_bucket{engine="3",le="1.0"} 1',
      'vllm:request_num_preemptions_bucket{engine="3",le="1.0"} is 9, the simulator counted 1',
    ],
    [
      '_bucket{engine="3",le="+Inf"} 2',
      'vllm:request_num_preemptions_bucket{engine="3",le="+Inf"} is 9, the simulator counted 2',
    ],
    ['_count{engine="3"} 2', 'vllm:request_num_preemptions_count{engine="3"} is 9, the simulator counted 2'],
    ['_sum{engine="3"} 2', 'vllm:request_num_preemptions_sum{engine="3"} is 9, the simulator counted 2'],
    [
      'num_preemptions_total{engine="3"} 2',
      'vllm:num_preemptions_total{engine="3"} is 9, the simulator counted 2',
    ],
    [
      'tokens_total{engine="3"} 12',
      'vllm:generation_tokens_total{engine="3"} is 9, the simulator counted 12',
    ],
    [
      'finished_reason="stop"} 1',
      'vllm:request_success_total{engine="3",finished_reason="stop"} is 9, the simulator counted 1',
    ],
    [
      'finished_reason="length"} 0',
      'vllm:request_success_total{engine="3",finished_reason="length"} is 9, the simulator counted 0',
    ],
    [
      'finished_reason="abort"} 1',
      'vllm:request_success_total{engine="3",finished_reason="abort"} is 9, the simulator counted 1',
    ],
  ])('finds a wrong %s', (ending, difference) => {
    const wrong = TEXT.replace(ending, ending.replace(/\d+$/, '9'));
    expect(wrong).not.toBe(TEXT);
    expect(check(wrong)).toEqual([difference]);
  });

  it('finds a metric that is not there at all', () => {
    expect(check('')).toContain(
      'vllm:request_num_preemptions_count{engine="3"} is 0, the simulator counted 2',
    );
  });

  it('finds a sample that went to the wrong engine', () => {
    const [first, second] = RECORDS;
    expect(check(TEXT, [first!, { ...second!, engine: 4 }])).toContain(
      'vllm:request_num_preemptions_count{engine="4"} is 0, the simulator counted 1',
    );
  });

  it('counts only requests that have ended', () => {
    const live = createRecord({ id: 'c', engine: 3, preemptions: 1, finishReason: undefined });
    expect(check(TEXT, [...RECORDS, live])).toEqual([]);
  });
});
