import { VllmInstrumentation, type SchedulerStats } from 'opentelemetry-instrumentation-vllm';
import { StatsLogger, type StatsLine } from 'opentelemetry-instrumentation-vllm/stats-log';
import type { Effort } from './candidate.ts';
import { summarize } from './compare.ts';
import { requireSameCounts, type Counts } from './counts.ts';
import type { Table } from './table.ts';

const ENGINES = 256;
const INTERVAL_SECONDS = 10;
/** Ticks of a round. */
const TICKS = 40;
/** Kinds of CUDA-graph runs of an interval: the rows of a table. */
const RUN_KINDS = 8;

/** How a log is set up, and what it has to tell. */
interface Variant {
  readonly name: string;
  readonly perEngine: boolean;
  /** Whether there is speculative decoding to tell of, and a table of CUDA-graph runs. */
  readonly everything: boolean;
  /** Whether the logger takes the numbers of a line as attributes. */
  readonly records: boolean;
}

const VARIANTS: readonly Variant[] = [
  { name: 'all engines together', perEngine: false, everything: false, records: false },
  { name: '… and every subject', perEngine: false, everything: true, records: false },
  { name: 'per engine', perEngine: true, everything: false, records: false },
  { name: '… and every subject', perEngine: true, everything: true, records: false },
  { name: '… as records with attributes', perEngine: true, everything: true, records: true },
];

/** A tick of the stats log over 256 engines: reading them, making their lines, and handing them to a logger. */
export async function statsLogTick({ rounds, scale }: Effort): Promise<Table> {
  const services = VARIANTS.map((variant) => new LoggedService(variant));
  const ticks = Math.ceil(TICKS * scale);
  for (const service of services) service.run(ticks);
  const samples = services.map((): TickTime[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [position, service] of services.entries()) samples[position]!.push(...service.run(ticks));
  }
  await requireSameCounts([EXPECTED, ...services]);
  for (const service of services) service.stop();
  return {
    title: `Tick of the stats log over ${ENGINES} engines`,
    columns: [
      { name: 'ms', digits: 3 },
      { name: 'fastest', digits: 3 },
      { name: 'slowest', digits: 3 },
      { name: 'CPU ms', digits: 3 },
      { name: 'lines', digits: 0 },
      { name: 'bytes', digits: 0 },
    ],
    rows: services.map(({ name, lines, bytes }, position) => {
      const { median, fastest, slowest } = summarize(samples[position]!.map(({ wall }) => wall));
      const cpu = samples[position]!.reduce((sum, sample) => sum + sample.cpu, 0) / samples[position]!.length;
      return { name, values: [median, fastest, slowest, cpu, lines, bytes] };
    }),
  };
}

/** What a tick took: milliseconds. */
interface TickTime {
  readonly wall: number;
  /** Of all threads. Its clock is coarse: only a mean over many tells something. */
  readonly cpu: number;
}

/** What the lines of each tick are to tell. */
const EXPECTED = {
  name: 'what was recorded',
  counts: async (): Promise<Counts> => {
    const tokens = Array.from({ length: ENGINES }, (_, index) => tokensOf(index));
    return { generated: tokens.reduce((sum, count) => sum + count, 0) };
  },
};

/** An instrumentation with a log. Its logger does as little with a line as a logger can: it makes bytes of it. */
class LoggedService {
  readonly name: string;
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

  constructor({ name, perEngine, everything, records }: Variant) {
    this.name = name;
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
  async counts(): Promise<Counts> {
    const rates = this.#lines.map((line) => /generation throughput: ([\d.]+)/.exec(line)?.[1] ?? '0');
    return { generated: rates.reduce((sum, rate) => sum + Number(rate) * INTERVAL_SECONDS, 0) };
  }

  stop(): void {
    this.#log.stop();
    this.#vllm.disable();
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
function tokensOf(index: number): number {
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
