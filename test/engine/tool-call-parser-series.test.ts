import { describe, expect, it } from 'vitest';
import type { ToolCallParserInvocation } from '../../src/engine/tool-call-parser-series.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const NAME = 'vllm:tool_call_parser_invocations';

const FOUND: ToolCallParserInvocation = {
  mode: 'streaming',
  outcome: 'tool_call',
  requestType: 'chat_completions',
};

const ALL = ['streaming', 'non_streaming'].flatMap((mode) =>
  ['tool_call', 'no_tool_call'].flatMap((outcome) =>
    ['chat_completions', 'responses', 'other'].map((request_type) => ({ mode, outcome, request_type })),
  ),
);

/** The labels of the series that are above 0, with their values. */
function counted(reading: Reading): unknown[] {
  return reading.points(NAME).flatMap(({ attributes, value }) => (value === 0 ? [] : [[attributes, value]]));
}

describe('the runs of the tool-call parser', () => {
  it('have all their series, of no engine, from the first one on, and none before', async () => {
    const { vllm, read } = startService();
    expect((await read()).names).not.toContain(NAME);
    vllm.recordToolCallParserInvocation(FOUND);
    const points = (await read()).points(NAME);
    expect(points.map(({ attributes }) => attributes)).toEqual(
      ALL.map((labels) => ({ model_name: 'test-model', ...labels })),
    );
    expect(points.map(({ value }) => value)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('are counted by mode, outcome and kind of request', async () => {
    const { vllm, read, dropped } = startService();
    for (const [position, { mode, outcome, request_type }] of ALL.entries()) {
      const invocation = { mode, outcome, requestType: request_type } as ToolCallParserInvocation;
      for (let run = 0; run <= position; run += 1) vllm.recordToolCallParserInvocation(invocation);
    }
    const reading = await read();
    expect(ALL.map((labels) => valueOf(reading, labels))).toEqual(ALL.map((_, position) => position + 1));
    expect(dropped()).toEqual({});
  });

  it.each<[string, unknown]>([
    ['an unknown mode', { ...FOUND, mode: 'batch' }],
    ['an unknown outcome', { ...FOUND, outcome: 'error' }],
    ['an unknown kind of request', { ...FOUND, requestType: 'completions' }],
    ['no mode', { ...FOUND, mode: undefined }],
    ['labels in one field', { mode: 'streaming tool_call', outcome: 'chat_completions', requestType: '' }],
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['symbols', { mode: Symbol('streaming'), outcome: Symbol('tool_call'), requestType: Symbol('other') }],
    ['what is no text', { ...FOUND, mode: Object.create(null) as object }],
  ])('that cannot be right are counted as dropped, and throw nothing: %s', async (_, invocation) => {
    const { vllm, read, dropped } = startService();
    vllm.recordToolCallParserInvocation(FOUND);
    vllm.recordToolCallParserInvocation(invocation as ToolCallParserInvocation);
    const labels = { model_name: 'test-model', ...ALL[0] };
    expect(counted(await read())).toEqual([[labels, 1]]);
    expect(dropped()).toEqual({ invalidValue: 1 });
  });

  it('are not counted while the instrumentation is disabled', async () => {
    const { vllm, read } = startService();
    vllm.disable();
    vllm.recordToolCallParserInvocation(FOUND);
    expect((await read()).names).not.toContain(NAME);
    vllm.enable();
    vllm.recordToolCallParserInvocation(FOUND);
    vllm.disable();
    vllm.recordToolCallParserInvocation(FOUND);
    expect(valueOf(await read(), ALL[0]!)).toBe(1);
  });

  it('stay when every engine is removed', async () => {
    const { vllm, read } = startService();
    vllm.recordToolCallParserInvocation(FOUND);
    vllm.removeEngine(0);
    vllm.recordToolCallParserInvocation(FOUND);
    expect(valueOf(await read(), ALL[0]!)).toBe(2);
  });
});

function valueOf(reading: Reading, labels: object): unknown {
  const wanted = JSON.stringify({ model_name: 'test-model', ...labels });
  return reading.points(NAME).find(({ attributes }) => JSON.stringify(attributes) === wanted)?.value;
}
