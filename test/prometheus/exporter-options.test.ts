import { describe, expect, it } from 'vitest';
import { resolveExporterOptions } from '../../src/prometheus/exporter-options.ts';

describe('resolveExporterOptions', () => {
  it('has these defaults', () => {
    expect(resolveExporterOptions({})).toEqual({
      host: 'localhost',
      port: 9464,
      path: '/metrics',
      preventServerStart: false,
      onError: undefined,
      collectTimeoutMillis: 10_000,
      idleCollectMillis: 60_000,
      scopeLabels: false,
      targetInfo: true,
      metricProducers: [],
    });
  });

  it.each<[option: string, value: unknown, message: string]>([
    ['host', '', 'host must be a non-empty string; got ""'],
    ['host', 1, 'host must be a non-empty string; got 1'],
    ['port', -1, 'port must be a whole number from 0 to 65535; got -1'],
    ['port', 65_536, 'port must be a whole number from 0 to 65535; got 65536'],
    ['port', 1.5, 'port must be a whole number from 0 to 65535; got 1.5'],
    ['port', '9464', 'port must be a whole number from 0 to 65535; got "9464"'],
    ['path', 'metrics', "path must be a string that starts with '/', without '?' or '#'; got \"metrics\""],
    [
      'path',
      '/metrics?x',
      "path must be a string that starts with '/', without '?' or '#'; got \"/metrics?x\"",
    ],
    ['preventServerStart', 'yes', 'preventServerStart must be true or false; got "yes"'],
    ['scopeLabels', 1, 'scopeLabels must be true or false; got 1'],
    ['targetInfo', 0, 'targetInfo must be true or false; got 0'],
    ['onError', 'log', 'onError must be a function; got "log"'],
    [
      'collectTimeoutMillis',
      0,
      'collectTimeoutMillis must be a number of milliseconds up to 2147483647, above 0; got 0',
    ],
    [
      'collectTimeoutMillis',
      NaN,
      'collectTimeoutMillis must be a number of milliseconds up to 2147483647, above 0; got NaN',
    ],
    [
      'idleCollectMillis',
      2 ** 31,
      'idleCollectMillis must be a number of milliseconds up to 2147483647, 0 for never; got 2147483648',
    ],
    [
      'metricProducers',
      {},
      'metricProducers must be a list of metric producers, of `bound.producer()` say; got [object Object]',
    ],
    [
      'metricProducers',
      [{}],
      'metricProducers must be a list of metric producers, of `bound.producer()` say; got [object Object]',
    ],
  ])('refuses %s: %j', (option, value, message) => {
    expect(() => resolveExporterOptions({ [option]: value })).toThrow(new TypeError(message));
  });

  it('takes the ends of the allowed ranges', () => {
    const options = { port: 0, collectTimeoutMillis: 1, idleCollectMillis: 0, path: '/' };
    expect(resolveExporterOptions(options)).toMatchObject(options);
    const most = { port: 65_535, collectTimeoutMillis: 2 ** 31 - 1, idleCollectMillis: 2 ** 31 - 1 };
    expect(resolveExporterOptions(most)).toMatchObject(most);
  });
});
