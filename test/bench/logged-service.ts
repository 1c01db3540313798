import { VllmInstrumentation, type SchedulerStats } from 'opentelemetry-instrumentation-vllm';
import { StatsLogger, type StatsLine } from 'opentelemetry-instrumentation-vllm/stats-log';
import type { Counts } from './counts.ts';

export const ENGINES = 256;
const INTERVAL_SECONDS = 10;
/** Kinds of CUDA-graph runs of an interval: the rows of a table. */
const RUN_KINDS = 8;

/** How a log is set up, and what it has to tell. */
export interface Variant {
  readonly name: string;
  readonly perEngine: boolean;
  /** Whether there is speculative decoding to tell of, and a table of CUDA-graph runs. */
  readonly everything: boolean;
  /** Whether the logger takes the numbers of a line as attributes. */
  readonly records: boolean;
}

export const VARIANTS: readonly Variant[] = [
  { name: 'all engines together', perEngine: false, everything: false, records: false },
  { name: '… and every subject', perEngine: false, everything: true, records: false },
  { name: 'per engine', perEngine: true, everything: false, records: false },
  { name: '… and every subject', perEngine: true, everything: true, records: false },
  { name: '… as records with attributes', perEngine: true, everything: true, records: true },
];

/** What a tick took: milliseconds. */
export interface TickTime {
  readonly wall: number;
  /** Of all threads. Its clock is coarse: only a mean over many tells something. */
  readonly cpu: number;
}

/** An instrumentation with a log. Its logger does as little with a line as a logger can: it makes bytes of it. */
export class LoggedService {
  readonly #everything: boolean;
  readonly #vllm = new VllmInstrumentation({ modelName: 'bench' });
  readonly #log: StatsLogger;
  readonly #engines = Array.from({ length: ENGINES }, (_, index) => {
    const engine = this.#vllm.engine(index);
    return { engine, request: engine.startRequest({ promptTokens: 1000 }) };
  });
  #now = 0;
  /** Of the last tick. */
  #lines: string[] = [];
  #bytes = 0;

  constructor({ perEngine, everything, records }: Variant) {
    this.#everything = everything;
    const write = (line: string): void => {
      this.#lines.push(line);
      this.#bytes += Buffer.byteLength(line);
    };
    const writeLine = ({ text }: StatsLine): void => write(text);
    const logger = records ? { writeLine } : { info: write, debug: write };
    const clock = { monotonicSeconds: () => this.#now };
    this.#log = new StatsLogger(this.#vllm, { logger, perEngine, clock });
  }

  /** How many lines a tick has. */
  get lines(): number {
    return this.#lines.length;
  }

  /** How many bytes these have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What each of so many ticks took. The interval of work before each is not in it. */
  run(ticks: number): readonly TickTime[] {
    return Array.from({ length: ticks }, () => {
      this.#work();
      this.#now += INTERVAL_SECONDS;
      this.#lines = [];
      this.#bytes = 0;
      const startCpu = process.cpuUsage();
      const start = process.hrtime.bigint();
      this.#log.log();
      const wall = Number(process.hrtime.bigint() - start) / 1e6;
      const { user, system } = process.cpuUsage(startCpu);
      return { wall, cpu: (user + system) / 1e3 };
    });
  }

  /** What the lines of the last tick tell. */
  counts(): Counts {
    const rates = this.#lines.map((line) => /generation throughput: ([\d.]+)/.exec(line)?.[1] ?? '0');
    return { generated: rates.reduce((sum, rate) => sum + Number(rate) * INTERVAL_SECONDS, 0) };
  }

  #work(): void {
    for (const [index, { engine, request }] of this.#engines.entries()) {
      request.recordTokens(tokensOf(index), { timestamp: this.#now });
      engine.recordSchedulerStats(statsOf(index));
      if (!this.#everything) continue;
      for (let kind = 0; kind < RUN_KINDS; kind += 1)
        engine.recordSchedulerStats(furtherStatsOf(index, kind));
    }
  }
}

/** The odd ones are rounded nowhere: the interval has ten seconds. */
export function tokensOf(index: number): number {
  return 4001 + 37 * index;
}

function statsOf(index: number): SchedulerStats {
  return {
    num_running_reqs: 100 + (index % 37),
    num_waiting_reqs: index % 11,
    num_skipped_waiting_reqs: index % 3,
    kv_cache_usage: (0.317 + index * 0.0023) % 1,
    prefix_cache_stats: { queries: 4000 + index, hits: 1777 },
  };
}

function furtherStatsOf(index: number, kind: number): SchedulerStats {
  return {
    ...statsOf(index),
    spec_decoding_stats: {
      num_spec_tokens: 4,
      num_drafts: 97 + index,
      num_draft_tokens: 4 * (97 + index),
      num_accepted_tokens: 211,
      num_accepted_tokens_per_pos: [90, 60, 40, 21],
    },
    cudagraph_stats: {
      num_unpadded_tokens: kind * 8 + 3,
      num_padded_tokens: kind * 8 + 8,
      num_paddings: 5,
      runtime_mode: 'FULL',
    },
  };
}
