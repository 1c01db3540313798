import type { CounterSeries } from '../metrics/counter-series.ts';
import type { Drops } from '../metrics/drops.ts';
import type { SeriesStore } from '../metrics/series-store.ts';

const MODES = ['streaming', 'non_streaming'] as const;
const OUTCOMES = ['tool_call', 'no_tool_call'] as const;
const REQUEST_TYPES = ['chat_completions', 'responses', 'other'] as const;

/** One run of a tool-call parser: once per choice, or once per delta of a streamed one. */
export interface ToolCallParserInvocation {
  readonly mode: (typeof MODES)[number];
  /** Whether it found a call. A parser that failed found none. */
  readonly outcome: (typeof OUTCOMES)[number];
  /** Which API the request came through. */
  readonly requestType: (typeof REQUEST_TYPES)[number];
}

/** Counts the runs of the frontend's tool-call parser. All combinations exist from the first run on. */
export class ToolCallParserSeries {
  readonly #drops: Drops;
  readonly #series = new Map<string, CounterSeries>();

  constructor(store: SeriesStore, modelName: string, drops: Drops) {
    this.#drops = drops;
    for (const mode of MODES) {
      for (const outcome of OUTCOMES) {
        for (const requestType of REQUEST_TYPES) {
          const attributes = { model_name: modelName, mode, outcome, request_type: requestType };
          const series = store.counter('vllm:tool_call_parser_invocations', Object.freeze(attributes));
          this.#series.set(keyOf({ mode, outcome, requestType }), series);
        }
      }
    }
  }

  record(invocation: ToolCallParserInvocation): void {
    const series = this.#series.get(keyOf(invocation));
    if (series === undefined) {
      this.#drops.count('invalidValue', keyOf(invocation), 'an invocation of the tool-call parser');
    } else series.add(1);
  }
}

/** Of what is no invocation, or can't be made a text, a key that no series has. */
function keyOf(invocation: ToolCallParserInvocation): string {
  try {
    const { mode, outcome, requestType } = invocation;
    return `${mode} ${outcome} ${requestType}`;
  } catch {
    return typeof invocation;
  }
}
