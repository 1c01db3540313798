import { describe, expect, it } from 'vitest';
import {
  resolveStatsLoggerOptions,
  type StatsLoggerOptions,
} from '../../src/stats-log/stats-logger-options.ts';
import { StatsLogger } from '../../src/stats-log/stats-logger.ts';
import type { StatsSource } from '../../src/engine/stats-source.ts';
import { SYSTEM_CLOCK } from '../../src/request/clock.ts';
import { EngineBoard } from './engine-board.ts';

const logger = { info: () => {}, debug: () => {} };

describe('the options of a stats log', () => {
  it('are ten seconds in the words of Python on all engines, where only a logger is given', () => {
    expect(resolveStatsLoggerOptions({ logger })).toEqual({
      logger,
      intervalMillis: 10_000,
      style: 'python',
      perEngine: false,
      clock: SYSTEM_CLOCK,
    });
  });

  it.each<Partial<StatsLoggerOptions>>([
    { intervalMillis: 1 },
    { intervalMillis: 1.5 },
    { intervalMillis: 2 ** 31 - 1 },
    { style: 'rust' },
    { perEngine: true },
    { clock: { monotonicSeconds: () => 0 } },
    { logger: console },
    { logger: Object.assign(() => {}, logger) },
    { logger: { writeLine: () => {} } },
  ])('are taken as they are: %j', (options) => {
    expect(resolveStatsLoggerOptions({ logger, ...options })).toMatchObject(options);
  });

  it.each<[string, unknown, string]>([
    [
      'logger',
      undefined,
      'logger must be an object with info() and debug(), or what otelLogger() returns; got undefined',
    ],
    [
      'logger',
      null,
      'logger must be an object with info() and debug(), or what otelLogger() returns; got null',
    ],
    [
      'logger',
      'console',
      'logger must be an object with info() and debug(), or what otelLogger() returns; got "console"',
    ],
    [
      'logger',
      { info: () => {} },
      'logger must be an object with info() and debug(), or what otelLogger() returns; got [object Object]',
    ],
    [
      'logger',
      { emit: () => {} },
      'logger must be an object with info() and debug(), or what otelLogger() returns; got [object Object]',
    ],
    ['intervalMillis', 0, 'intervalMillis must be a number of milliseconds from 1 to 2147483647; got 0'],
    ['intervalMillis', 0.5, 'intervalMillis must be a number of milliseconds from 1 to 2147483647; got 0.5'],
    ['intervalMillis', -1, 'intervalMillis must be a number of milliseconds from 1 to 2147483647; got -1'],
    ['intervalMillis', NaN, 'intervalMillis must be a number of milliseconds from 1 to 2147483647; got NaN'],
    [
      'intervalMillis',
      Infinity,
      'intervalMillis must be a number of milliseconds from 1 to 2147483647; got Infinity',
    ],
    [
      'intervalMillis',
      2 ** 31,
      'intervalMillis must be a number of milliseconds from 1 to 2147483647; got 2147483648',
    ],
    [
      'intervalMillis',
      '10',
      'intervalMillis must be a number of milliseconds from 1 to 2147483647; got "10"',
    ],
    [
      'intervalMillis',
      null,
      'intervalMillis must be a number of milliseconds from 1 to 2147483647; got null',
    ],
    ['style', 'go', "style must be 'python' or 'rust'; got \"go\""],
    ['perEngine', 1, 'perEngine must be true or false; got 1'],
    ['clock', {}, 'clock must be an object with monotonicSeconds(); got [object Object]'],
    ['clock', null, 'clock must be an object with monotonicSeconds(); got null'],
  ])('that are not valid are refused at construction: %s %s', (name, value, message) => {
    expect(() => new StatsLogger(new EngineBoard(), { logger, [name]: value })).toThrow(
      new TypeError(message),
    );
  });

  it.each([undefined, null, 5, 'options'])('have to be an object: %s', (options) => {
    expect(() => new StatsLogger(new EngineBoard(), options as never)).toThrow(
      /^options must be an object with at least logger; got /,
    );
  });

  it.each([undefined, null, 5, {}, { engine: () => {} }])('need a source to go with: %s', (source) => {
    expect(() => new StatsLogger(source as unknown as StatsSource, { logger })).toThrow(
      /^source must be a VllmInstrumentation, or another object with watchEngines\(\); got /,
    );
  });
});
