import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, createContextKey } from '@opentelemetry/api';
import { array, assert, boolean, constant, constantFrom, integer, oneof, property, record } from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { IntervalAccumulator } from '../../src/engine/interval-accumulator.ts';
import { StatsLogger } from '../../src/stats-log/stats-logger.ts';
import type { StatsLoggerOptions } from '../../src/stats-log/stats-logger-options.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { EngineBoard } from './engine-board.ts';
import { RecordedLines } from './recorded-lines.ts';

/** What is written where nothing but throughput moves. */
function withRates(prompt: string, generation: string): string {
  return `Avg prompt throughput: ${prompt} tokens/s, Avg generation throughput: ${generation} tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%`;
}

const IDLE = withRates('0.0', '0.0');

/** What is written where it is not known how long the interval was. */
const UNTIMED = withRates('nan', 'nan');

/** A log that a test prints by hand, with a clock that it moves. */
function startLog(board: EngineBoard, options: Partial<StatsLoggerOptions> = {}) {
  const clock = new ManualClock();
  const lines = new RecordedLines();
  const log = new StatsLogger(board, { logger: lines, clock, ...options });
  onTestFinished(() => log.stop());
  const after = (seconds: number): readonly string[] => {
    clock.monotonic += seconds;
    log.log();
    return lines.take();
  };
  return { log, clock, lines, after };
}

describe('the ticks of a stats log', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('come every ten seconds, the first after one interval', () => {
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const log = new StatsLogger(board, { logger: lines });
    board.engine(0).count({ promptTokens: 1000, generationTokens: 250 });
    vi.advanceTimersByTime(9999);
    expect(lines.take()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(lines.take()).toEqual([`info: ${withRates('100.0', '25.0')}`]);
    log.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('print at debug while idle, with one last line at info when load stops', () => {
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const log = new StatsLogger(board, { logger: lines });
    const load = [0, 0, 10, 10, 0, 0, 0, 10, 0, 0];
    for (const generationTokens of load) {
      board.engine(0).count({ generationTokens });
      vi.advanceTimersByTime(10_000);
    }
    log.stop();
    expect(lines.take()).toEqual([
      `debug: ${IDLE}`,
      `debug: ${IDLE}`,
      `info: ${withRates('0.0', '1.0')}`,
      `info: ${withRates('0.0', '1.0')}`,
      `info: ${IDLE}`,
      `debug: ${IDLE}`,
      `debug: ${IDLE}`,
      `info: ${withRates('0.0', '1.0')}`,
      `info: ${IDLE}`,
      `debug: ${IDLE}`,
    ]);
  });

  it('take prompt tokens for load as well, and preemptions for none', () => {
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 10 });
    expect(after(10)).toEqual([`info: ${withRates('1.0', '0.0')}`]);
    expect(after(10)).toEqual([`info: ${IDLE}`]);
    board.engine(0).count({ preemptions: 1 });
    expect(after(10)).toEqual([`debug: ${IDLE.replace('GPU', 'Preemptions: 1, GPU')}`]);
  });

  it('that come late are not made up for: the rate is that of the measured time', () => {
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const clock = new ManualClock();
    const log = new StatsLogger(board, { logger: lines, clock });
    board.engine(0).count({ generationTokens: 100 });
    clock.monotonic += 40;
    vi.advanceTimersByTime(10_000);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '2.5')}`]);
    board.engine(0).count({ generationTokens: 100 });
    clock.monotonic += 10;
    vi.advanceTimersByTime(10_000);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    log.stop();
  });

  it('come every millisecond where that is asked for', () => {
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const log = new StatsLogger(board, { logger: lines, intervalMillis: 1 });
    for (let tick = 0; tick < 5; tick += 1) {
      board.engine(0).count({ generationTokens: 1 });
      vi.advanceTimersByTime(1);
    }
    log.stop();
    expect(lines.take()).toEqual(Array.from({ length: 5 }, () => `info: ${withRates('0.0', '1000.0')}`));
  });

  it('are not put off by log()', () => {
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const log = new StatsLogger(board, { logger: lines });
    board.engine(0).count({ generationTokens: 60 });
    vi.advanceTimersByTime(6000);
    log.log();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    board.engine(0).count({ generationTokens: 60 });
    vi.advanceTimersByTime(4000);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '15.0')}`]);
    log.stop();
  });
});

describe('the timer of a stats log', () => {
  it('keeps no process alive', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const log = new StatsLogger(new EngineBoard(), { logger: console });
    expect(timers()).toBe(before);
    log.stop();
  });

  it.each([
    ['a number', 7],
    ['an object that can only be cleared', {}],
  ])('may be %s', (_, timer) => {
    const cleared: unknown[] = [];
    vi.stubGlobal('setInterval', () => timer);
    vi.stubGlobal('clearInterval', (given: unknown) => cleared.push(given));
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
    new StatsLogger(new EngineBoard(), { logger: console }).stop();
    expect(cleared).toEqual([timer]);
  });

  it('has a Context of its own, whichever request made the log', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    onTestFinished(() => context.disable());
    const key = createContextKey('request');
    const request = context.active().setValue(key, 'r');
    const seen = await new Promise((resolve) => {
      const debug = (): void => resolve(context.active().getValue(key));
      const log = context.with(
        request,
        () => new StatsLogger(new EngineBoard(), { logger: { info: debug, debug }, intervalMillis: 1 }),
      );
      onTestFinished(() => log.stop());
    });
    expect(seen).toBeUndefined();
  });
});

describe('stop()', () => {
  it('prints a last partial interval that saw anything, once', () => {
    const board = new EngineBoard(0);
    const { log, clock, lines } = startLog(board);
    board.engine(0).count({ generationTokens: 9 });
    clock.monotonic += 2;
    log.stop();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '4.5')}`]);
    board.engine(0).count({ generationTokens: 9 });
    clock.monotonic += 2;
    log.stop();
    log.log();
    expect(lines.take()).toEqual([]);
  });

  it('prints nothing where nothing was seen, not even after load', () => {
    const board = new EngineBoard(0);
    const { log, clock, lines, after } = startLog(board);
    board.engine(0).count({ generationTokens: 9 });
    board.engine(0).set({ running: 5 });
    after(10);
    clock.monotonic += 5;
    log.stop();
    expect(lines.take()).toEqual([]);
  });

  it('is no fault right after a line', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const { log, lines, after } = startLog(board);
    after(10);
    log.stop();
    expect([lines.take(), warnings]).toEqual([[], []]);
  });

  it.each([
    ['stands where it stood at the last line', 0, []],
    ['went back', -3, ['the monotonic clock went back: 60 s, then 57 s (said once)']],
    ['tells no time', NaN, ['the monotonic clock tells no time: NaN (said once)']],
  ])('prints without rates what came since where the clock %s', (_, seconds, reports) => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const { log, clock, lines, after } = startLog(board);
    after(10);
    board.engine(0).count({ generationTokens: 9 });
    board.engine(0).observe((a) => a.observeSpecDecode({ num_drafts: 2, num_draft_tokens: 4 }));
    clock.monotonic += seconds;
    log.stop();
    expect(lines.take()).toEqual([
      `info: ${UNTIMED}`,
      'info: SpecDecoding metrics: Mean acceptance length: 1.00, Accepted throughput: nan tokens/s, Drafted throughput: nan tokens/s, Accepted: 0 tokens, Drafted: 4 tokens, Avg Draft acceptance rate: 0.0%',
    ]);
    expect(
      warnings.map((warning) => warning.slice('opentelemetry-instrumentation-vllm: stats log: '.length)),
    ).toEqual(reports);
  });

  it('prints what can be read where an engine cannot be', () => {
    captureDiag();
    const board = new EngineBoard(0, 1);
    const { log, clock, lines } = startLog(board);
    board.engine(0).count({ generationTokens: 9 });
    board.engine(1).isBroken = true;
    clock.monotonic += 3;
    log.stop();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '3.0')}`]);
    expect(board.engine(1).accumulators.size).toBe(0);
  });

  it('lets go of every engine where one does not let go', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0, 1);
    const attach = board.engine(0).attach.bind(board.engine(0));
    board.removeEngine(0);
    const stubborn = new EngineBoard();
    const { log } = startLog(stubborn);
    stubborn.addEngine(
      Object.assign(board.engine(0), {
        attach: (accumulator: IntervalAccumulator) => {
          attach(accumulator);
          return () => {
            throw new Error('stuck');
          };
        },
      }),
    );
    stubborn.engine(1);
    log.stop();
    expect([stubborn.watchers.size, stubborn.engine(1).accumulators.size]).toEqual([0, 0]);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: an engine could not be read: stuck (said once)',
    ]);
  });

  it('prints only the engines that saw anything, where lines are per engine', () => {
    const board = new EngineBoard(0, 1, 2);
    const { log, clock, lines } = startLog(board, { perEngine: true });
    board.engine(1).count({ promptTokens: 3 });
    clock.monotonic += 1;
    log.stop();
    expect(lines.take()).toEqual([`info: Engine 001: ${withRates('3.0', '0.0')}`]);
  });

  it('lets go of the source and its engines', () => {
    const board = new EngineBoard(0);
    const { log } = startLog(board);
    expect([board.watchers.size, board.engine(0).accumulators.size]).toEqual([1, 1]);
    log.stop();
    expect([board.watchers.size, board.engine(0).accumulators.size]).toEqual([0, 0]);
  });
});

describe('lines on all engines', () => {
  it('sum what they did, average their KV usage, and ask for one hit rate', () => {
    const board = new EngineBoard(3, 7);
    const { after } = startLog(board);
    board.engine(3).count({ promptTokens: 100, prefixCacheQueries: 100, prefixCacheHits: 100 });
    board.engine(3).set({ running: 2, waiting: 1, kvCacheUsage: 0.5 });
    board.engine(7).count({ generationTokens: 50, prefixCacheQueries: 300, prefixCacheHits: 0 });
    board.engine(7).set({ running: 3, deferred: 4, kvCacheUsage: 1 });
    expect(after(10)).toEqual([
      'info: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 5.0 tokens/s, Running: 5 reqs, Waiting: 5 reqs, Deferred: 4 reqs, GPU KV cache usage: 75.0%, Prefix cache hit rate: 25.0%',
    ]);
  });

  it('have hit rates of the interval alone', () => {
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 1, prefixCacheQueries: 10, prefixCacheHits: 10 });
    expect(after(10)[0]).toMatch(/Prefix cache hit rate: 100\.0%$/);
    board.engine(0).count({ promptTokens: 1, prefixCacheQueries: 10, prefixCacheHits: 1 });
    expect(after(10)[0]).toMatch(/Prefix cache hit rate: 10\.0%$/);
    expect(after(10)[0]).toMatch(/Prefix cache hit rate: 0\.0%$/);
  });

  it('do not tell what was before the log began', () => {
    const board = new EngineBoard(0);
    board.engine(0).count({ promptTokens: 1e6, preemptions: 5 });
    const { after } = startLog(board);
    expect(after(10)).toEqual([`debug: ${IDLE}`]);
  });

  it('stay right with counters beyond 2 ** 53', () => {
    const board = new EngineBoard(0);
    board.engine(0).set({ generationTokens: 2 ** 60, flopsPerGpu: 2 ** 80 });
    const { after } = startLog(board);
    board.engine(0).count({ generationTokens: 2 ** 20, flopsPerGpu: 2 ** 50 });
    expect(after(8)).toEqual([
      `info: ${withRates('0.0', '131072.0')}`,
      'info: MFU: 140.7 TF/s/GPU 0.0 GB/s/GPU',
    ]);
  });

  it('are there without an engine, too', () => {
    expect(startLog(new EngineBoard()).after(10)).toEqual([`debug: ${IDLE}`]);
  });

  it('tell of every subject, in the words of either frontend', () => {
    for (const style of ['python', 'rust'] as const) {
      const board = new EngineBoard(0);
      const { after } = startLog(board, { style });
      board.engine(0).count({ generationTokens: 40, flopsPerGpu: 1e14, readBytesPerGpu: 1e11 });
      board.engine(0).observe((accumulator) => {
        accumulator.observeSpecDecode({
          num_drafts: 10,
          num_draft_tokens: 20,
          num_accepted_tokens: 15,
          num_accepted_tokens_per_pos: [10, 5],
        });
        accumulator.observeCudagraph({
          num_unpadded_tokens: 3,
          num_padded_tokens: 4,
          num_paddings: 1,
          runtime_mode: 'FULL',
        });
        accumulator.observeNixl({ num_failed_transfers: [1] });
      });
      const [main, ...further] = after(10);
      expect(main).toBe(
        style === 'python'
          ? `info: ${withRates('0.0', '4.0')}`
          : 'info: Avg prompt tput: 0.0 toks/s, Avg generation tput: 4.0 toks/s, Reqs Running: 0, Waiting: 0, GPU KV cache used: 0.0%, Prefix cache hit rate: 0.0%',
      );
      expect(further).toEqual([
        'info: SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 1.50 tokens/s, Drafted throughput: 2.00 tokens/s, Accepted: 15 tokens, Drafted: 20 tokens, Per-position acceptance rate: 1.000, 0.500, Avg Draft acceptance rate: 75.0%',
        'info: MFU: 10.0 TF/s/GPU 10.0 GB/s/GPU',
        'info: **CUDAGraph Stats:**\n\n| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |\n|-----------------|---------------|--------------|--------------|-------|\n| 3               | 4             | 1            | FULL         | 1     |',
        'info: KV Transfer metrics: Num successful transfers=0, Avg xfer time (ms)=0, P90 xfer time (ms)=0, Avg post time (ms)=0, P90 post time (ms)=0, Avg MB per transfer=0, Throughput (MB/s)=0, Avg number of descriptors=0, Num failed transfers=1',
      ]);
      expect(after(10)).toHaveLength(1);
    }
  });
});

describe('lines per engine', () => {
  it('carry the index of each, ascending, and its own idle rule', () => {
    const board = new EngineBoard(12, 3);
    const { after } = startLog(board, { perEngine: true });
    board.engine(12).count({ promptTokens: 10 });
    board.engine(12).set({ kvCacheUsage: 0.5 });
    const busy = withRates('1.0', '0.0').replace('usage: 0.0', 'usage: 50.0');
    expect(after(10)).toEqual([`debug: Engine 003: ${IDLE}`, `info: Engine 012: ${busy}`]);
    board.engine(3).count({ promptTokens: 10 });
    expect(after(10)).toEqual([
      `info: Engine 003: ${withRates('1.0', '0.0')}`,
      `info: Engine 012: ${IDLE.replace('usage: 0.0', 'usage: 50.0')}`,
    ]);
    expect(after(10).map((text) => text.slice(0, 17))).toEqual(['info: Engine 003:', 'debug: Engine 012']);
  });

  it('are none without an engine', () => {
    expect(startLog(new EngineBoard(), { perEngine: true }).after(10)).toEqual([]);
  });
});

describe('engines that come and go between ticks', () => {
  it('count from their coming, also what they did before the next tick', () => {
    const board = new EngineBoard();
    const { after } = startLog(board);
    board.engine(5).count({ promptTokens: 10 });
    board.engine(5).observe((accumulator) => accumulator.observeSpecDecode({ num_drafts: 1 }));
    expect(after(10)).toEqual([
      `info: ${withRates('1.0', '0.0')}`,
      expect.stringContaining('Mean acceptance length: 1.00'),
    ]);
  });

  it('count to their end, and stand no longer where they stood', () => {
    const board = new EngineBoard(0, 1);
    const { after } = startLog(board);
    board.engine(0).set({ running: 1, kvCacheUsage: 0.25 });
    board.engine(1).set({ running: 8, kvCacheUsage: 0.75 });
    board.engine(1).count({ promptTokens: 10 });
    board.removeEngine(1);
    const left = IDLE.replace('Running: 0', 'Running: 1').replace('usage: 0.0', 'usage: 25.0');
    expect(after(10)).toEqual([`info: ${left.replace('0.0', '1.0')}`]);
    expect(after(10)).toEqual([`info: ${left}`]);
  });

  it('are among those that a line is on to the line after their end', () => {
    const board = new EngineBoard(0, 1, 2);
    const lines = new RecordedLines();
    const { after } = startLog(board, { logger: lines.asRecords() });
    board.removeEngine(2);
    after(10);
    after(10);
    expect(lines.records.map(({ attributes }) => attributes['vllm.stats.engines'])).toEqual([3, 2]);
  });

  it('count where they came and went in the same interval', () => {
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(9).count({ generationTokens: 20 });
    board.removeEngine(9);
    expect(after(10)).toEqual([`info: ${withRates('0.0', '2.0')}`]);
  });

  it('print a last line of their own where they did anything, and then no more', () => {
    const board = new EngineBoard(0, 1, 2);
    const { after } = startLog(board, { perEngine: true });
    board.engine(1).count({ promptTokens: 10 });
    board.removeEngine(1);
    board.removeEngine(2);
    expect(after(10)).toEqual([`debug: Engine 000: ${IDLE}`, `info: Engine 001: ${withRates('1.0', '0.0')}`]);
    expect(after(10)).toEqual([`debug: Engine 000: ${IDLE}`]);
  });

  it('are one line under their index where another took it', () => {
    const board = new EngineBoard(1);
    const { after } = startLog(board, { perEngine: true });
    board.engine(1).count({ promptTokens: 10, flopsPerGpu: 1e13 });
    board.engine(1).set({ running: 7 });
    board.removeEngine(1);
    board.engine(1).count({ promptTokens: 20, flopsPerGpu: 1e13 });
    board.engine(1).set({ running: 2, kvCacheUsage: 0.5 });
    const both = withRates('3.0', '0.0')
      .replace('Running: 0', 'Running: 2')
      .replace('usage: 0.0', 'usage: 50.0');
    expect(after(10)).toEqual([
      `info: Engine 001: ${both}`,
      'info: Engine 001: MFU: 2.0 TF/s/GPU 0.0 GB/s/GPU',
    ]);
  });
});

describe('several logs of one source', () => {
  it('take nothing from each other', () => {
    const board = new EngineBoard(0);
    const one = startLog(board);
    const other = startLog(board, { style: 'rust' });
    const work = (drafts: number): void => {
      board.engine(0).count({ generationTokens: drafts });
      board
        .engine(0)
        .observe((accumulator) =>
          accumulator.observeSpecDecode({ num_drafts: drafts, num_draft_tokens: drafts }),
        );
    };
    const drafted = (lines: readonly string[]): string[] =>
      lines.map((text) => /Drafted: \d+|generation \w+: [\d.]+/.exec(text)?.[0] ?? text);
    work(10);
    expect(drafted(one.after(10))).toEqual(['generation throughput: 1.0', 'Drafted: 10']);
    work(20);
    expect(drafted(one.after(10))).toEqual(['generation throughput: 2.0', 'Drafted: 20']);
    expect(drafted(other.after(10))).toEqual(['generation tput: 3.0', 'Drafted: 30']);
    one.log.stop();
    work(40);
    expect(drafted(other.after(10))).toEqual(['generation tput: 4.0', 'Drafted: 40']);
  });
});

describe('the sum over all intervals', () => {
  const step = record({
    engine: integer({ min: 0, max: 3 }),
    act: constantFrom('work', 'log', 'remove'),
    amount: integer({ min: 0, max: 1000 }),
    seconds: oneof(integer({ min: -30, max: 30 }), constant(NaN)),
    fails: boolean(),
  });

  it.each([false, true])(
    'equals what the engines did, whatever clock and engines do, per engine: %s',
    (perEngine) => {
      captureDiag();
      assert(
        property(array(step, { maxLength: 60 }), (steps) => {
          const board = new EngineBoard(0, 1);
          const lines = new RecordedLines();
          const clock = new ManualClock();
          const log = new StatsLogger(board, { logger: lines.asRecords(), clock, perEngine });
          let done = 0;
          let time = clock.monotonic;
          for (const { act, engine, amount, seconds, fails } of steps) {
            if (!Number.isNaN(seconds)) time += seconds;
            clock.monotonic = Number.isNaN(seconds) ? NaN : time;
            board.engine(0).isBroken = fails && act === 'log';
            if (act === 'log') log.log();
            else if (act === 'remove') board.removeEngine(engine);
            else {
              done += amount;
              board.engine(engine).count({ generationTokens: amount, preemptions: amount });
              board
                .engine(engine)
                .observe((a) => a.observeSpecDecode({ num_drafts: 1, num_draft_tokens: amount }));
            }
          }
          board.engine(0).isBroken = false;
          log.stop();
          const sumOf = (kind: string, number: (attributes: Record<string, number>) => number): number =>
            lines.records
              .filter((line) => line.kind === kind)
              .reduce((sum, { attributes }) => sum + number(attributes as Record<string, number>), 0);
          expect(sumOf('throughput', (numbers) => numbers['vllm.stats.generation_tokens']!)).toBe(done);
          expect(sumOf('throughput', (numbers) => numbers['vllm.stats.preemptions']!)).toBe(done);
          expect(sumOf('spec_decode', (numbers) => numbers['vllm.stats.drafted_tokens']!)).toBe(done);
        }),
      );
    },
  );
});

describe('a clock that', () => {
  it('stands still gives no line, and costs nothing of the next one', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 10 });
    expect([after(0), after(0)]).toEqual([[], []]);
    board.engine(0).count({ promptTokens: 10 });
    expect(after(10)).toEqual([`info: ${withRates('2.0', '0.0')}`]);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: the monotonic clock stands still: 50 s, then 50 s (said once)',
    ]);
  });

  it('goes back gives a line without rates, and then right ones', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 10, preemptions: 3 });
    board.engine(0).set({ running: 2 });
    const running = UNTIMED.replace('Running: 0', 'Running: 2').replace('GPU', 'Preemptions: 3, GPU');
    expect(after(-1000)).toEqual([`info: ${running}`]);
    board.engine(0).set({ running: 0 });
    board.engine(0).count({ promptTokens: 20 });
    expect(after(10)).toEqual([`info: ${withRates('2.0', '0.0')}`]);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: the monotonic clock went back: 50 s, then -950 s (said once)',
    ]);
  });

  it('goes back leaves rates out of the attributes, and what was counted in them', () => {
    captureDiag();
    const board = new EngineBoard(0);
    const lines = new RecordedLines();
    const { after } = startLog(board, { logger: lines.asRecords() });
    board.engine(0).count({ promptTokens: 10, generationTokens: 4, flopsPerGpu: 5 });
    board
      .engine(0)
      .observe((a) => a.observeSpecDecode({ num_drafts: 2, num_draft_tokens: 4, num_accepted_tokens: 3 }));
    after(-1);
    expect(lines.records.map(({ kind, attributes }) => [kind, attributes])).toEqual([
      [
        'throughput',
        {
          'vllm.stats.engines': 1,
          'vllm.stats.prompt_tokens': 10,
          'vllm.stats.generation_tokens': 4,
          'vllm.stats.running': 0,
          'vllm.stats.waiting': 0,
          'vllm.stats.deferred': 0,
          'vllm.stats.preemptions': 0,
          'vllm.stats.kv_cache_usage': 0,
        },
      ],
      [
        'spec_decode',
        {
          'vllm.stats.engines': 1,
          'vllm.stats.mean_acceptance_length': 2.5,
          'vllm.stats.accepted_tokens': 3,
          'vllm.stats.drafted_tokens': 4,
          'vllm.stats.draft_acceptance_rate': 0.75,
        },
      ],
      ['mfu', { 'vllm.stats.engines': 1 }],
    ]);
  });

  it('goes back, stands still and tells no time is reported for each of these', () => {
    const warnings = captureDiag();
    const { after } = startLog(new EngineBoard(0));
    for (const seconds of [-1, -1, 0, 0, NaN, NaN]) after(seconds);
    expect(
      warnings.map((warning) => warning.slice('opentelemetry-instrumentation-vllm: stats log: '.length)),
    ).toEqual([
      'the monotonic clock went back: 50 s, then 49 s (said once)',
      'the monotonic clock stands still: 48 s, then 48 s (said once)',
      'the monotonic clock tells no time: NaN (said once)',
    ]);
  });

  it('goes back, stands still or fails costs no line its level', () => {
    captureDiag();
    const board = new EngineBoard(0);
    const { after, clock, log, lines } = startLog(board);
    board.engine(0).count({ promptTokens: 10 });
    expect(after(10)).toEqual([`info: ${withRates('1.0', '0.0')}`]);
    after(0);
    clock.monotonic = NaN;
    log.log();
    clock.monotonic = 70;
    log.log();
    expect(lines.take()).toEqual([`info: ${IDLE}`]);
    board.engine(0).count({ promptTokens: 10 });
    expect(after(-5)).toEqual([`info: ${UNTIMED}`]);
    expect(after(10)).toEqual([`info: ${IDLE}`]);
  });

  it('jumps ahead makes a long interval', () => {
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 1000 });
    expect(after(1000)).toEqual([`info: ${withRates('1.0', '0.0')}`]);
  });

  it.each<[string, () => number]>([
    ['tells no number', () => NaN],
    ['tells an infinite number', () => Infinity],
    [
      'throws',
      () => {
        throw new Error('broken clock');
      },
    ],
  ])('%s gives no line until it tells the time again', (_, broken) => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const clock = new ManualClock();
    const { log, lines } = startLog(board, { clock });
    clock.monotonicSeconds = broken;
    board.engine(0).count({ promptTokens: 10 });
    log.log();
    expect(lines.take()).toEqual([]);
    clock.monotonicSeconds = () => 60;
    log.log();
    expect(lines.take()).toEqual([`info: ${withRates('1.0', '0.0')}`]);
    expect(warnings).toHaveLength(1);
  });

  it('tells no time at the start gives a line without rates as soon as it does, on all there was', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const clock = new ManualClock();
    clock.monotonic = NaN;
    const { log, lines } = startLog(board, { clock });
    board.engine(0).count({ promptTokens: 10, preemptions: 1 });
    log.log();
    expect(lines.take()).toEqual([]);
    clock.monotonic = 5;
    log.log();
    expect(lines.take()).toEqual([`info: ${UNTIMED.replace('GPU', 'Preemptions: 1, GPU')}`]);
    board.engine(0).count({ promptTokens: 10 });
    clock.monotonic = 15;
    log.log();
    expect(lines.take()).toEqual([`info: ${withRates('1.0', '0.0')}`]);
    expect(warnings).toHaveLength(1);
  });
});

describe('a logger that', () => {
  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('disk full');
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('%s is reported once, and gets every further line', async (_, fail) => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    let calls = 0;
    const debug = (): unknown => {
      calls += 1;
      return fail();
    };
    const { after } = startLog(board, { logger: { info: debug, debug } });
    after(10);
    after(10);
    await new Promise(setImmediate);
    expect(calls).toBe(2);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: the logger failed: disk full (said once)',
    ]);
  });

  it('calls log() in the middle of lines makes no further ones', () => {
    const board = new EngineBoard(0);
    const clock = new ManualClock();
    let calls = 0;
    const debug = (): void => {
      calls += 1;
      clock.monotonic += 1;
      log.log();
    };
    const log = new StatsLogger(board, { logger: { info: debug, debug }, clock });
    onTestFinished(() => log.stop());
    clock.monotonic += 10;
    log.log();
    expect(calls).toBe(1);
  });

  it.each([false, true])(
    'stops the log in the middle of lines gets the rest of them and of the interval first, and then nothing, per engine: %s',
    (perEngine) => {
      const board = new EngineBoard(0, 1, 2);
      const clock = new ManualClock();
      const lines: string[] = [];
      const info = (line: string): void => {
        lines.push(line.replace(/tokens\/s, Running.*/, '…'));
        if (lines.length > 1) return;
        board.engine(0).count({ generationTokens: 8 });
        clock.monotonic += 2;
        log.stop();
        lines.push('stopped');
        board.engine(0).count({ generationTokens: 8 });
      };
      const log = new StatsLogger(board, { logger: { info, debug: info }, clock, perEngine });
      board.engine(0).count({ generationTokens: 20, flopsPerGpu: 1e14 });
      board.engine(1).count({ generationTokens: 12 });
      clock.monotonic += 10;
      log.log();
      log.log();
      const avg = (rate: string): string =>
        `Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: ${rate} …`;
      expect(lines).toEqual(
        perEngine
          ? [
              `Engine 000: ${avg('2.0')}`,
              'Engine 000: MFU: 10.0 TF/s/GPU 0.0 GB/s/GPU',
              `Engine 000: ${avg('4.0')}`,
              `Engine 001: ${avg('1.0')}`,
              'stopped',
            ]
          : [avg('3.2'), 'MFU: 3.3 TF/s/GPU 0.0 GB/s/GPU', avg('4.0'), 'stopped'],
      );
      expect([board.watchers.size, board.engine(0).accumulators.size]).toEqual([0, 0]);
    },
  );
});

describe('a logger that stops the log in the middle of lines', () => {
  it('gets the rest of them before stop() returns, also where nothing has happened since', () => {
    const board = new EngineBoard(0);
    const clock = new ManualClock();
    const lines: string[] = [];
    const info = (line: string): void => {
      lines.push(line.slice(0, 3));
      log.stop();
      lines.push('stopped');
    };
    const log = new StatsLogger(board, { logger: { info, debug: info }, clock });
    board.engine(0).count({ generationTokens: 20, flopsPerGpu: 1e14 });
    clock.monotonic += 10;
    log.log();
    expect(lines).toEqual(['Avg', 'MFU', 'stopped', 'stopped']);
  });
});

describe('an engine that', () => {
  it('cannot be read is reported once, costs no other its line, and loses nothing: neither counts nor time', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0, 1);
    const { after } = startLog(board, { perEngine: true });
    const broken = board.engine(1);
    broken.isBroken = true;
    broken.count({ promptTokens: 30 });
    expect(after(10)).toEqual([`debug: Engine 000: ${IDLE}`]);
    expect(after(10)).toHaveLength(1);
    broken.isBroken = false;
    expect(after(10)[1]).toBe(`info: Engine 001: ${withRates('1.0', '0.0')}`);
    broken.count({ promptTokens: 30 });
    expect(after(10)[1]).toBe(`info: Engine 001: ${withRates('3.0', '0.0')}`);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: an engine could not be read: no numbers (said once)',
    ]);
  });

  it('cannot be read puts off the line on all engines together, with their counts and the time of them', () => {
    captureDiag();
    const board = new EngineBoard(0, 1);
    const { after } = startLog(board);
    board.engine(0).count({ promptTokens: 10 });
    board.engine(1).count({ promptTokens: 20 });
    board.engine(1).isBroken = true;
    expect(after(10)).toEqual([]);
    board.engine(0).count({ promptTokens: 10 });
    board.engine(1).isBroken = false;
    expect(after(10)).toEqual([`info: ${withRates('2.0', '0.0')}`]);
  });

  it.each([false, true])(
    'cannot be read at first is tried again with each line, per engine: %s',
    (perEngine) => {
      captureDiag();
      const board = new EngineBoard(0);
      board.engine(0).isBroken = true;
      board.engine(0).count({ promptTokens: 1000 });
      const { after } = startLog(board, { perEngine });
      expect(after(10)).toEqual([]);
      expect(board.engine(0).accumulators.size).toBe(0);
      board.engine(0).isBroken = false;
      const prefix = perEngine ? 'Engine 000: ' : '';
      expect(after(10)).toEqual([`debug: ${prefix}${IDLE}`]);
      board.engine(0).count({ promptTokens: 10 });
      expect(after(10)).toEqual([`info: ${prefix}${withRates('1.0', '0.0')}`]);
    },
  );

  it('cannot be read while the clock goes back has a line without rates', () => {
    captureDiag();
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    board.engine(0).isBroken = true;
    board.engine(0).count({ promptTokens: 10 });
    after(10);
    board.engine(0).isBroken = false;
    expect(after(-5)).toEqual([`info: ${UNTIMED}`]);
  });

  it('cannot be read when it goes does not disturb the source, and is let go', () => {
    const warnings = captureDiag();
    const board = new EngineBoard(0);
    const { after } = startLog(board);
    const engine = board.engine(0);
    engine.observe((a) => a.observeSpecDecode({ num_drafts: 1 }));
    engine.readStats = () => {
      throw Object.create(null) as Error;
    };
    expect(() => board.removeEngine(0)).not.toThrow();
    expect(engine.accumulators.size).toBe(0);
    expect(after(10)).toEqual([`debug: ${IDLE}`, expect.stringContaining('Mean acceptance length: 1.00')]);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: an engine could not be read: object (said once)',
    ]);
  });
});
