import {
  FIRST_TOKEN_SECONDS_BOUNDARIES,
  REQUEST_SECONDS_BOUNDARIES,
} from '../../../src/metrics/boundaries.ts';
import { interpolatedQuantile } from './interpolated-quantile.ts';
import { DRAFTS, EXTERNAL_LOOK_UP, MULTI_MODAL_LOOK_UP, type ToldRequest } from './telling-run.ts';

/** What a query must return, by the value of the label that tells its series apart, or by '' where there is one series. */
export type Figures = Readonly<Record<string, number>>;

/** How to work out what a query returns at the end of a window, which is as long as the query's. */
export interface LogFigure {
  /** The panel and the letter of a query of the dashboard, or the name of a rule. */
  readonly name: string;
  /** The label that tells its series apart. */
  readonly label?: string;
  figures(log: LogWindow): Figures;
}

const PREEMPTION_BOUNDARIES = [1, 2, 3, 4, 5, 10, 20];
const FINISH_REASONS = ['stop', 'length', 'abort', 'error', 'repetition'];
/** The objective of the rules for the time to first token, in seconds, and the share that may miss it. */
const OBJECTIVE = { seconds: 2.5, share: 0.01 };

/** What the simulator's log says happened in a window, its beginning left out, as a rate leaves it out. */
export class LogWindow {
  readonly seconds: number;
  readonly #records: readonly ToldRequest[];
  readonly #end: number;

  constructor(records: readonly ToldRequest[], end: number, seconds: number) {
    this.#records = records;
    this.#end = end;
    this.seconds = seconds;
  }

  /** The requests that ended. */
  get ended(): readonly ToldRequest[] {
    return this.#records.filter(({ endedAt }) => this.#has(endedAt));
  }

  /** The requests that got their first token. */
  get begun(): readonly ToldRequest[] {
    return this.#records.filter(({ firstReceivedAt }) => this.#has(firstReceivedAt));
  }

  /** The windows of `seconds` that end at the whole minutes of this one, since the simulation began. */
  minutes(seconds: number): readonly LogWindow[] {
    const windows: LogWindow[] = [];
    const begin = Math.max(this.#end - this.seconds, 0);
    for (let end = Math.floor(this.#end / 60) * 60; end > begin; end -= 60) {
      windows.push(new LogWindow(this.#records, end, seconds));
    }
    return windows;
  }

  #has(time: number | undefined): boolean {
    return time !== undefined && time > this.#end - this.seconds && time <= this.#end;
  }
}

/** A figure of the requests, added up. */
export function total(requests: readonly ToldRequest[], of: (request: ToldRequest) => number): number {
  return requests.reduce((sum, request) => sum + of(request), 0);
}

/** A figure of the requests of each engine. */
export function byEngine(
  requests: readonly ToldRequest[],
  of: (own: readonly ToldRequest[]) => number,
): Figures {
  return Object.fromEntries(
    [0, 1].map((engine) => [engine, of(requests.filter((one) => one.engine === engine))]),
  );
}

const single = (value: number): Figures => ({ '': value });
const above = (requests: readonly ToldRequest[], bound: number): number =>
  requests.filter(({ preemptions }) => preemptions > bound).length;
const timeToFirstToken = ({ arrival, firstReceivedAt }: ToldRequest): number => firstReceivedAt! - arrival;
const endToEnd = ({ arrival, endedAt }: ToldRequest): number => endedAt! - arrival;
const isSlow = (request: ToldRequest): boolean => timeToFirstToken(request) > OBJECTIVE.seconds;

const byReason = (of: (reason: string) => number): Figures =>
  Object.fromEntries(FINISH_REASONS.map((reason) => [reason, of(reason)]));
const withReason = ({ ended }: LogWindow, reason: string): number =>
  ended.filter(({ finishReason }) => finishReason === reason).length;

const burnRate = (windows: readonly LogWindow[]): Figures => {
  const begun = windows.flatMap((window) => window.begun);
  return single(begun.filter(isSlow).length / (OBJECTIVE.share * begun.length));
};

/** What the main panels of the dashboard show. */
export const panelFigures: readonly LogFigure[] = [
  {
    name: 'Preemptions per request A',
    label: 'le',
    figures: ({ ended }) => {
      const upTo = [...PREEMPTION_BOUNDARIES, Infinity].map((bound) => [
        bound === Infinity ? '+Inf' : `${bound}.0`,
        ended.length - above(ended, bound),
      ]);
      return Object.fromEntries(upTo) as Figures;
    },
  },
  ...[1, 3, 5, 10].map((bound, position): LogFigure => ({
    name: `Share of requests preempted more than n times ${'ABCD'[position]}`,
    figures: ({ ended }) => single(above(ended, bound) / ended.length),
  })),
  {
    name: 'Thrash: p99 of preemptions A',
    figures: ({ ended }) =>
      single(
        interpolatedQuantile(
          0.99,
          ended.map(({ preemptions }) => preemptions),
          PREEMPTION_BOUNDARIES,
        ),
      ),
  },
  {
    name: 'Thrash: requests preempted more than 5 times, per minute A',
    figures: ({ ended, seconds }) => single((60 * above(ended, 5)) / seconds),
  },
  {
    name: 'Mean preemptions per request A',
    figures: ({ ended }) => single(total(ended, ({ preemptions }) => preemptions) / ended.length),
  },
  ...[0.99, 0.95, 0.5].map((q, position): LogFigure => ({
    name: `Time to first token (TTFT) ${'ABC'[position]}`,
    figures: ({ begun }) =>
      single(interpolatedQuantile(q, begun.map(timeToFirstToken), FIRST_TOKEN_SECONDS_BOUNDARIES)),
  })),
  {
    name: 'Time to first token (TTFT) D',
    figures: ({ begun }) => single(total(begun, timeToFirstToken) / begun.length),
  },
  ...[0.99, 0.95, 0.5].map((q, position): LogFigure => ({
    name: `End-to-end latency (e2e) ${'ABC'[position]}`,
    figures: ({ ended }) => single(interpolatedQuantile(q, ended.map(endToEnd), REQUEST_SECONDS_BOUNDARIES)),
  })),
  {
    name: 'Prompt and generation throughput A',
    figures: ({ begun, seconds }) => single(total(begun, ({ promptTokens }) => promptTokens) / seconds),
  },
  {
    name: 'Prompt tokens by source A',
    label: 'source',
    figures: ({ begun, seconds }) => ({
      local_compute: total(begun, ({ computedTokens }) => computedTokens) / seconds,
      local_cache_hit: total(begun, ({ localTokens }) => localTokens) / seconds,
      external_kv_transfer: total(begun, ({ externalTokens }) => externalTokens) / seconds,
    }),
  },
  { name: 'Cache hit rates B', figures: () => single(EXTERNAL_LOOK_UP.hits / EXTERNAL_LOOK_UP.queries) },
  {
    name: 'Cache hit rates C',
    figures: () => single(MULTI_MODAL_LOOK_UP.hits / MULTI_MODAL_LOOK_UP.queries),
  },
  {
    name: 'Draft acceptance rate A',
    figures: () => single(DRAFTS.num_accepted_tokens / DRAFTS.num_draft_tokens),
  },
  {
    name: 'Mean acceptance length A',
    figures: () => single(1 + DRAFTS.num_accepted_tokens / DRAFTS.num_drafts),
  },
  {
    name: 'Acceptance by position A',
    label: 'position',
    figures: () =>
      Object.fromEntries(
        DRAFTS.num_accepted_tokens_per_pos.map((accepted, position) => [
          position,
          accepted / DRAFTS.num_drafts,
        ]),
      ),
  },
  {
    name: 'Requests by finish reason A',
    label: 'finished_reason',
    figures: (log) => byReason((reason) => withReason(log, reason) / log.seconds),
  },
  ...['abort', 'error'].map((reason, position): LogFigure => ({
    name: `Share of requests aborted or failed ${'AB'[position]}`,
    figures: (log) => single(withReason(log, reason) / log.ended.length),
  })),
  {
    name: 'Corrupted requests A',
    label: 'engine',
    figures: ({ ended, seconds }) =>
      byEngine(ended, (own) => (60 * own.filter(({ isCorrupted }) => isCorrupted).length) / seconds),
  },
];

/** What the rules compute, with the seconds of the window that each has. */
export const ruleFigures: readonly (LogFigure & { readonly seconds: number })[] = [
  {
    name: 'engine:vllm_request_num_preemptions_over_5:ratio_increase30m',
    seconds: 1800,
    label: 'engine',
    figures: ({ ended }) => byEngine(ended, (own) => above(own, 5) / own.length),
  },
  {
    name: 'model_finished_reason:vllm_request_success:ratio_increase15m',
    seconds: 900,
    label: 'finished_reason',
    figures: (log) => byReason((reason) => withReason(log, reason) / log.ended.length),
  },
  {
    name: 'model:vllm_time_to_first_token_seconds:increase1h',
    seconds: 3600,
    figures: ({ begun }) => single(begun.length),
  },
  {
    name: 'model:vllm_time_to_first_token_seconds:burnrate5m',
    seconds: 300,
    figures: (log) => burnRate([log]),
  },
  ...(
    [
      ['30m', 1800],
      ['1h', 3600],
      ['6h', 21_600],
      ['3d', 259_200],
    ] as const
  ).map(([window, seconds]) => ({
    name: `model:vllm_time_to_first_token_seconds:burnrate${window}`,
    seconds,
    figures: (log: LogWindow) => burnRate(log.minutes(300)),
  })),
];
