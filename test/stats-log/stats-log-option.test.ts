import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import type { VllmInstrumentationOptions } from '../../src/options.ts';
import type { StatsLoggerOptions } from '../../src/stats-log/stats-logger-options.ts';
import { keepRoster } from '../../src/shutdown-roster.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startService, type Service } from '../support/service.ts';
import { IDLE, pass, withRates } from './logged-service.ts';
import { RecordedLines } from './recorded-lines.ts';

/** Ten tokens a second for so long, on both clocks and the timers. */
function generate({ engine, clock }: Service, seconds: number): void {
  const request = engine.startRequest();
  request.recordTokens(seconds * 10, { timestamp: clock.monotonic });
  request.end('stop');
  letPass(clock, seconds);
}

function letPass(clock: ManualClock, seconds: number): void {
  pass(clock, seconds);
  vi.advanceTimersByTime(seconds * 1000);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the option statsLog', () => {
  it('takes the options of StatsLogger', () => {
    expectTypeOf<VllmInstrumentationOptions['statsLog']>().toEqualTypeOf<StatsLoggerOptions | undefined>();
  });

  it("prints every ten seconds of the instrumentation's own clock", () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } });
    generate(service, 10);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    // Late by as much again.
    pass(service.clock, 10);
    generate(service, 10);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '5.0')}`]);
    letPass(service.clock, 10);
    letPass(service.clock, 10);
    expect(lines.take()).toEqual([`info: ${IDLE}`, `debug: ${IDLE}`]);
    service.vllm.disable();
  });

  it('prints by a clock of its own where it has one, in its own words, per engine', () => {
    const lines = new RecordedLines();
    const clock = new ManualClock();
    const statsLog = { logger: lines, clock, intervalMillis: 2000, style: 'rust', perEngine: true } as const;
    const service = startService({ statsLog });
    service.vllm.engine(3);
    clock.monotonic += 5;
    generate(service, 2);
    expect(lines.take()).toEqual([
      'info: Engine 000: Avg prompt tput: 0.0 toks/s, Avg generation tput: 4.0 toks/s, Reqs Running: 0, Waiting: 0, GPU KV cache used: 0.0%, Prefix cache hit rate: 0.0%',
      'debug: Engine 003: Avg prompt tput: 0.0 toks/s, Avg generation tput: 0.0 toks/s, Reqs Running: 0, Waiting: 0, GPU KV cache used: 0.0%, Prefix cache hit rate: 0.0%',
    ]);
    service.vllm.disable();
  });

  it('takes the clock of the instrumentation also where its own is left undefined', () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines, clock: undefined } });
    pass(service.clock, 10);
    generate(service, 10);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '5.0')}`]);
    service.vllm.disable();
  });

  it('prints nothing where it is left out', () => {
    const service = startService();
    generate(service, 10);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('prints nothing until the instrumentation is enabled, and what came before is no part of a line', () => {
    const lines = new RecordedLines();
    const service = startService({ enabled: false, statsLog: { logger: lines } });
    generate(service, 30);
    expect([lines.take(), vi.getTimerCount()]).toEqual([[], 0]);
    service.vllm.setConfig({ enabled: true });
    generate(service, 10);
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    service.vllm.disable();
  });

  it('prints the last partial interval when the instrumentation is disabled, the aborts of that included', () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } });
    const request = service.engine.startRequest({ requestId: 'r', promptTokens: 40 });
    request.recordTokens(1, {
      timestamp: 50,
      prefill: { num_prompt_tokens: 40, num_computed_tokens: 40 },
    });
    pass(service.clock, 4);
    service.vllm.disable();
    expect(request.ended).toBe(true);
    expect(lines.take()).toEqual([`info: ${withRates('10.0', '0.2')}`]);
    letPass(service.clock, 100);
    expect(lines.take()).toEqual([]);
  });

  it('prints nothing when the instrumentation is disabled and nothing was seen', () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } });
    service.engine.recordSchedulerStats({ num_running_reqs: 1, kv_cache_usage: 0.5 });
    pass(service.clock, 4);
    service.vllm.disable();
    service.vllm.disable();
    expect(lines.take()).toEqual([]);
  });

  it('begins a new log when the instrumentation is enabled again', () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } });
    generate(service, 10);
    service.vllm.disable();
    letPass(service.clock, 100);
    service.vllm.enable();
    service.vllm.enable();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    expect(vi.getTimerCount()).toBe(1);
    generate(service, 10);
    // There was load before the pause, too: nothing of that is left.
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '10.0')}`]);
    letPass(service.clock, 5);
    service.engine.startRequest().recordTokens(10, { timestamp: 60 });
    service.vllm.disable();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '2.0')}`]);
    letPass(service.clock, 100);
    expect(lines.take()).toEqual([]);
  });

  it('prints its last line when whoever shuts the provider down disables what records into it', () => {
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } });
    const other = { getMeter: () => service.provider.getMeter('other') };
    const roster = keepRoster(other);
    service.vllm.setMeterProvider(other);
    service.engine.startRequest().recordTokens(20, { timestamp: 50 });
    pass(service.clock, 1);
    for (const enlisted of roster) enlisted.disable();
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '20.0')}`]);
  });

  it('costs the service nothing where the logger fails, whichever way', async () => {
    const warnings = captureDiag();
    const logger = {
      info: () => {
        throw new Error('disk full');
      },
      debug: () => Promise.reject(new Error('disk full')),
    };
    const service = startService({ statsLog: { logger } });
    letPass(service.clock, 10);
    generate(service, 10);
    generate(service, 5);
    service.vllm.disable();
    vi.useRealTimers();
    await new Promise(setImmediate);
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: the logger failed: disk full (said once)',
    ]);
    expect(service.dropped()).toEqual({});
    expect((await service.read()).value('vllm:generation_tokens')).toBe(150);
  });
});

describe('an option of statsLog that is not valid', () => {
  const logger = new RecordedLines();

  it.each<[string, unknown, string]>([
    ['no object', true, 'statsLog must be an object with at least logger; got true'],
    ['null', null, 'statsLog must be an object with at least logger; got null'],
    [
      'no logger',
      {},
      'statsLog.logger must be an object with info() and debug(), or what otelLogger() returns; got undefined',
    ],
    [
      'half a logger',
      { logger: { info: () => {} } },
      'statsLog.logger must be an object with info() and debug(), or what otelLogger() returns; got [object Object]',
    ],
    [
      'an interval of 0',
      { logger, intervalMillis: 0 },
      'statsLog.intervalMillis must be a number of milliseconds from 1 to 2147483647; got 0',
    ],
    [
      'an interval of NaN',
      { logger, intervalMillis: NaN },
      'statsLog.intervalMillis must be a number of milliseconds from 1 to 2147483647; got NaN',
    ],
    ['a style', { logger, style: 'go' }, "statsLog.style must be 'python' or 'rust'; got \"go\""],
    ['a text', { logger, perEngine: 'yes' }, 'statsLog.perEngine must be true or false; got "yes"'],
    [
      'a clock',
      { logger, clock: {} },
      'statsLog.clock must be an object with monotonicSeconds(); got [object Object]',
    ],
  ])('is refused at construction, enabled or not: %s', (_, statsLog, message) => {
    for (const enabled of [true, false]) {
      const options = { modelName: 'm', enabled, statsLog } as VllmInstrumentationOptions;
      expect(() => new VllmInstrumentation(options)).toThrow(new TypeError(message));
    }
    expect(vi.getTimerCount()).toBe(0);
  });
});
