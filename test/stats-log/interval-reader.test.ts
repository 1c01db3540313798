import { array, assert, asyncProperty, bigInt, boolean, integer, oneof, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineCounters, WatchedEngine } from '../../src/engine/stats-source.ts';
import type { EngineInterval } from '../../src/stats-log/engine-interval.ts';
import { IntervalReader } from '../../src/stats-log/interval-reader.ts';
import { startService, type Service } from '../support/service.ts';

/** The counters of one engine, as a scrape has them. */
const SERIES: Readonly<Record<keyof EngineCounters, readonly [string, Readonly<Record<string, string>>?]>> = {
  promptTokens: ['vllm:prompt_tokens_by_source', { source: 'local_compute' }],
  generationTokens: ['vllm:generation_tokens'],
  preemptions: ['vllm:num_preemptions'],
  prefixCacheQueries: ['vllm:prefix_cache_queries'],
  prefixCacheHits: ['vllm:prefix_cache_hits'],
  externalPrefixCacheQueries: ['vllm:external_prefix_cache_queries'],
  externalPrefixCacheHits: ['vllm:external_prefix_cache_hits'],
  mmCacheQueries: ['vllm:mm_cache_queries'],
  mmCacheHits: ['vllm:mm_cache_hits'],
  flopsPerGpu: ['vllm:estimated_flops_per_gpu'],
  readBytesPerGpu: ['vllm:estimated_read_bytes_per_gpu'],
  writeBytesPerGpu: ['vllm:estimated_write_bytes_per_gpu'],
};
const COUNTERS = Object.keys(SERIES) as (keyof EngineCounters)[];

/** The engine of index 0, as a log gets to see it. */
function watchedEngine({ vllm }: Service): WatchedEngine {
  let found: WatchedEngine | undefined;
  vllm.watchEngines({
    engineAdded: (engine) => {
      found = engine;
    },
    engineRemoved: () => {},
  })();
  return found!;
}

/** Moves all counters, each by an amount of its own, of the kind of number that is given. */
function work({ engine }: Service, amount: number | bigint): void {
  const part = (divisor: bigint): number | bigint =>
    typeof amount === 'bigint' ? amount / divisor : Number(BigInt(amount) / divisor);
  const tokens = Number(BigInt(amount) % 1000n);
  const request = engine.startRequest({ promptTokens: tokens });
  request.recordPreemption(1);
  request.recordTokens(tokens + 1, { timestamp: 2, prefill: { num_computed_tokens: tokens } });
  request.end('stop');
  engine.recordMultiModalCacheStats({ queries: part(2n), hits: part(3n) });
  engine.recordSchedulerStats({
    prefix_cache_stats: { queries: part(5n), hits: part(7n) },
    connector_prefix_cache_stats: { queries: part(11n), hits: part(13n) },
    perf_stats: {
      num_flops_per_gpu: amount,
      num_read_bytes_per_gpu: part(17n),
      num_write_bytes_per_gpu: part(19n),
    },
  });
}

function add(sums: Record<keyof EngineCounters, number>, interval: EngineInterval): void {
  for (const name of COUNTERS) sums[name] += interval[name];
}

function startReader(engine: WatchedEngine): IntervalReader {
  const reader = new IntervalReader(engine);
  reader.read();
  return reader;
}

function takeFrom(reader: IntervalReader): EngineInterval {
  reader.read();
  return reader.take()!;
}

/** What all intervals of two logs add up to, and what a scrape says at the end. */
async function sumsOf(steps: readonly { amount: number | bigint; first: boolean; second: boolean }[]) {
  const service = startService();
  const engine = watchedEngine(service);
  const readers = [startReader(engine), startReader(engine)] as const;
  const sums = readers.map(() => Object.fromEntries(COUNTERS.map((name) => [name, 0]))) as Record<
    keyof EngineCounters,
    number
  >[];
  for (const { amount, first, second } of [...steps, { amount: 1, first: true, second: true }]) {
    work(service, amount);
    if (first) add(sums[0]!, takeFrom(readers[0]));
    if (second) add(sums[1]!, takeFrom(readers[1]));
  }
  const reading = await service.read();
  const scraped = COUNTERS.map((name): [string, number] => [name, reading.value(...SERIES[name])]);
  for (const reader of readers) reader.close();
  return { sums, scraped: Object.fromEntries(scraped) };
}

const when = { first: boolean(), second: boolean() };

describe('the sum over all intervals of an instrumentation', () => {
  it('equals every counter at the end, for each log', async () => {
    const step = record({ amount: oneof(integer({ min: 0, max: 2 ** 31 }), bigInt(0n, 2n ** 44n)), ...when });
    await assert(
      asyncProperty(array(step, { maxLength: 20 }), async (steps) => {
        const { sums, scraped } = await sumsOf(steps);
        expect(sums).toEqual([scraped, scraped]);
      }),
      { numRuns: 30 },
    );
  });

  it('equals the counters beyond 2 ** 53, too', async () => {
    const amounts = [2n ** 53n - 1n, 3n, 2n ** 60n, 2n ** 40n, 2n ** 63n, 2n ** 50n];
    const { sums, scraped } = await sumsOf(amounts.map((amount) => ({ amount, first: true, second: false })));
    expect(sums).toEqual([scraped, scraped]);
    expect(scraped['flopsPerGpu']).toBe(
      Number(2n ** 53n + 2n + 2n ** 60n + 2n ** 40n + 2n ** 63n + 2n ** 50n + 1n),
    );
  });

  it('is beyond that, at any amounts, off by no more than a last place of the counter', async () => {
    const step = record({ amount: bigInt(0n, 2n ** 64n - 1n), ...when });
    await assert(
      asyncProperty(array(step, { maxLength: 20 }), async (steps) => {
        const { sums, scraped } = await sumsOf(steps);
        const total = steps.reduce((sum, { amount }) => sum + amount, 1n);
        expect(scraped['flopsPerGpu']).toBe(Number(total));
        for (const name of COUNTERS) {
          for (const sum of sums) {
            expect(Math.abs(sum[name] - scraped[name]!)).toBeLessThanOrEqual(scraped[name]! * Number.EPSILON);
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('one interval', () => {
  it('is exact up to 2 ** 53, and from then on in steps of the doubles that counters are read as', () => {
    const service = startService();
    const reader = startReader(watchedEngine(service));
    const takeAfter = (flops: bigint): number => {
      service.engine.recordSchedulerStats({ perf_stats: { num_flops_per_gpu: flops } });
      return takeFrom(reader).flopsPerGpu;
    };
    expect([2n ** 53n - 3n, 1n, 2n].map(takeAfter)).toEqual([2 ** 53 - 3, 1, 2]);
    // Doubles are two apart here. No single one is lost for good.
    expect([1n, 1n, 1n, 1n].map(takeAfter)).toEqual([0, 2, 2, 0]);
    expect(takeAfter(2n ** 20n)).toBe(2 ** 20);
    reader.close();
  });

  it('begins when the log does, and ends for what is observed when the log closes', () => {
    const service = startService();
    work(service, 5);
    const reader = startReader(watchedEngine(service));
    expect(COUNTERS.map((name) => takeFrom(reader)[name])).toEqual(COUNTERS.map(() => 0));
    reader.close();
    service.engine.recordSchedulerStats({ spec_decoding_stats: { num_drafts: 1 } });
    expect(takeFrom(reader).observed.specDecode).toBeUndefined();
  });
});
