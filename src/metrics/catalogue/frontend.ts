import type { CounterMetric } from '../metric.ts';

/** What the frontend itself reports, for no engine in particular. */
export const frontendMetrics: readonly CounterMetric[] = [
  {
    name: 'vllm:tool_call_parser_invocations',
    kind: 'counter',
    labels: ['model_name', 'mode', 'outcome', 'request_type'],
    labelValues: {
      mode: ['streaming', 'non_streaming'],
      outcome: ['tool_call', 'no_tool_call'],
      request_type: ['chat_completions', 'responses', 'other'],
    },
    unit: 'invocations',
    description: 'Runs of the tool-call parser, and whether it found a call.',
  },
];
