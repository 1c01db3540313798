import { describe, expect, it } from 'vitest';
import type { Environment } from '../../src/register/environment-variable.ts';
import { readEnvironment, type RegisterConfiguration } from '../../src/register/read-environment.ts';
import { StartUpError } from '../../src/register/start-up-error.ts';

const DEFAULTS: RegisterConfiguration = {
  logLevel: 'warn',
  resourceAttributes: {},
  propagators: new Set(['tracecontext', 'baggage']),
  metrics: {
    otlp: 'http/protobuf',
    prometheus: undefined,
    console: false,
    exportIntervalMillis: 60_000,
    exportTimeoutMillis: 30_000,
  },
  traces: { otlp: undefined, console: false, sampler: 'parentbased_always_on', samplerRatio: 1 },
};

const metrics = (changes: Partial<RegisterConfiguration['metrics']>): RegisterConfiguration => ({
  ...DEFAULTS,
  metrics: { ...DEFAULTS.metrics, ...changes },
});
const traces = (changes: Partial<RegisterConfiguration['traces']>): RegisterConfiguration => ({
  ...DEFAULTS,
  traces: { ...DEFAULTS.traces, ...changes },
});

const LOCAL = { host: 'localhost', port: 9464 };

describe('readEnvironment', () => {
  const accepted: readonly (readonly [Environment, RegisterConfiguration | undefined])[] = [
    [{}, DEFAULTS],
    [{ OTEL_METRICS_EXPORTER: '', OTEL_TRACES_EXPORTER: ' ', OTEL_LOG_LEVEL: '' }, DEFAULTS],
    [{ OTEL_SDK_DISABLED: 'true' }, undefined],
    [{ OTEL_SDK_DISABLED: ' TRUE ', OTEL_METRICS_EXPORTER: 'nonsense' }, undefined],
    [{ OTEL_SDK_DISABLED: 'false' }, DEFAULTS],

    [{ OTEL_LOG_LEVEL: 'DEBUG' }, { ...DEFAULTS, logLevel: 'debug' }],
    [{ OTEL_SERVICE_NAME: 'gateway' }, { ...DEFAULTS, resourceAttributes: { 'service.name': 'gateway' } }],
    [
      { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a, zone = eu%2C1 ,empty=,url=a=b,' },
      { ...DEFAULTS, resourceAttributes: { 'service.name': 'a', zone: 'eu,1', empty: '', url: 'a=b' } },
    ],
    [
      { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a', OTEL_SERVICE_NAME: 'b' },
      { ...DEFAULTS, resourceAttributes: { 'service.name': 'b' } },
    ],
    [{ OTEL_PROPAGATORS: 'tracecontext' }, { ...DEFAULTS, propagators: new Set(['tracecontext']) }],
    [{ OTEL_PROPAGATORS: 'none' }, { ...DEFAULTS, propagators: new Set() }],

    [{ OTEL_METRICS_EXPORTER: 'otlp' }, DEFAULTS],
    [{ OTEL_METRICS_EXPORTER: 'none' }, metrics({ otlp: undefined })],
    [{ OTEL_METRICS_EXPORTER: 'prometheus' }, metrics({ otlp: undefined, prometheus: LOCAL })],
    [{ OTEL_METRICS_EXPORTER: 'console' }, metrics({ otlp: undefined, console: true })],
    [{ OTEL_METRICS_EXPORTER: ' Prometheus , otlp,prometheus,' }, metrics({ prometheus: LOCAL })],
    [
      {
        OTEL_METRICS_EXPORTER: 'prometheus',
        OTEL_EXPORTER_PROMETHEUS_HOST: '0.0.0.0',
        OTEL_EXPORTER_PROMETHEUS_PORT: '0',
      },
      metrics({ otlp: undefined, prometheus: { host: '0.0.0.0', port: 0 } }),
    ],
    [
      { OTEL_METRIC_EXPORT_INTERVAL: '120000', OTEL_METRIC_EXPORT_TIMEOUT: '90000' },
      metrics({ exportIntervalMillis: 120_000, exportTimeoutMillis: 90_000 }),
    ],
    [
      { OTEL_METRIC_EXPORT_INTERVAL: '500' },
      metrics({ exportIntervalMillis: 500, exportTimeoutMillis: 500 }),
    ],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, metrics({ otlp: 'grpc' })],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'HTTP/JSON' },
      metrics({ otlp: 'http/json' }),
    ],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'here:4317' },
      metrics({ otlp: 'grpc' }),
    ],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4318/path',
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'HTTP://collector',
        OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'LowMemory',
        OTEL_EXPORTER_OTLP_HEADERS: 'the exporter reads these',
      },
      DEFAULTS,
    ],

    [{ OTEL_TRACES_EXPORTER: 'otlp' }, traces({ otlp: 'http/protobuf' })],
    [
      { OTEL_TRACES_EXPORTER: 'console,otlp', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
      traces({ otlp: 'http/json', console: true }),
    ],
    [
      {
        OTEL_TRACES_EXPORTER: 'console',
        OTEL_TRACES_SAMPLER: 'always_off',
        OTEL_TRACES_SAMPLER_ARG: 'unused',
      },
      traces({ console: true, sampler: 'always_off' }),
    ],
    [
      {
        OTEL_TRACES_EXPORTER: 'console',
        OTEL_TRACES_SAMPLER: 'ParentBased_TraceIdRatio',
        OTEL_TRACES_SAMPLER_ARG: '0.01',
      },
      traces({ console: true, sampler: 'parentbased_traceidratio', samplerRatio: 0.01 }),
    ],
    [
      { OTEL_TRACES_EXPORTER: 'console', OTEL_TRACES_SAMPLER: 'traceidratio' },
      traces({ console: true, sampler: 'traceidratio' }),
    ],

    // Of an exporter that is not in use, nothing is looked at.
    [
      {
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_EXPORTER_PROMETHEUS_PORT: 'x',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'x',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'x',
        OTEL_TRACES_SAMPLER: 'x',
      },
      metrics({ otlp: undefined }),
    ],
  ];

  it.each(accepted)('reads %j', (env, configuration) => {
    expect(readEnvironment(env)).toEqual(configuration);
  });

  const PROTOCOLS = 'http/protobuf, http/json, grpc';
  const URL_TEXT = 'a URL that starts with http:// or https://';
  const MILLIS = 'a whole number from 1 to 2147483647';
  const LIST = (names: string): string => `none or a list of ${names} with commas between`;
  const METRICS = LIST('otlp, prometheus, console');
  const PAIRS = 'key=value pairs, percent-encoded, with commas between';
  const prometheus = { OTEL_METRICS_EXPORTER: 'prometheus' };
  const spans = { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'otlp' };

  const refused: readonly {
    readonly name: string;
    readonly value: string;
    readonly allowed: string;
    /** What makes the variable one to look at. */
    readonly env?: Environment;
  }[] = [
    { name: 'OTEL_SDK_DISABLED', value: 'yes', allowed: 'true, false' },
    { name: 'OTEL_LOG_LEVEL', value: 'loud', allowed: 'none, error, warn, info, debug, verbose, all' },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'zone', allowed: PAIRS },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'a=1,=2', allowed: PAIRS },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'a=%zz', allowed: PAIRS },
    { name: 'OTEL_PROPAGATORS', value: 'tracecontext,b3', allowed: LIST('tracecontext, baggage') },
    { name: 'OTEL_METRICS_EXPORTER', value: 'promethus', allowed: METRICS },
    { name: 'OTEL_METRICS_EXPORTER', value: 'otlp;prometheus', allowed: METRICS },
    { name: 'OTEL_METRICS_EXPORTER', value: 'none,otlp', allowed: METRICS },
    {
      name: 'OTEL_EXPORTER_PROMETHEUS_PORT',
      value: '65536',
      allowed: 'a whole number from 0 to 65535',
      env: prometheus,
    },
    {
      name: 'OTEL_EXPORTER_PROMETHEUS_PORT',
      value: '-1',
      allowed: 'a whole number from 0 to 65535',
      env: prometheus,
    },
    {
      name: 'OTEL_EXPORTER_PROMETHEUS_PORT',
      value: '9464/tcp',
      allowed: 'a whole number from 0 to 65535',
      env: prometheus,
    },
    { name: 'OTEL_METRIC_EXPORT_INTERVAL', value: '0', allowed: MILLIS },
    { name: 'OTEL_METRIC_EXPORT_INTERVAL', value: '10s', allowed: MILLIS },
    { name: 'OTEL_METRIC_EXPORT_TIMEOUT', value: '1e3', allowed: MILLIS },
    { name: 'OTEL_METRIC_EXPORT_TIMEOUT', value: '2147483648', allowed: MILLIS },
    { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'http', allowed: PROTOCOLS },
    { name: 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', value: 'json', allowed: PROTOCOLS },
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'collector:4318', allowed: URL_TEXT },
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://', allowed: URL_TEXT },
    { name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', value: 'ftp://collector', allowed: URL_TEXT },
    { name: 'OTEL_EXPORTER_OTLP_TIMEOUT', value: '0', allowed: MILLIS },
    { name: 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT', value: 'soon', allowed: MILLIS },
    { name: 'OTEL_EXPORTER_OTLP_COMPRESSION', value: 'GZIP', allowed: 'gzip, none' },
    {
      name: 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
      value: 'both',
      allowed: 'cumulative, delta, lowmemory',
    },
    { name: 'OTEL_TRACES_EXPORTER', value: 'zipkin', allowed: LIST('otlp, console') },
    { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'thrift', allowed: PROTOCOLS, env: spans },
    { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: 'collector', allowed: URL_TEXT, env: spans },
    {
      name: 'OTEL_TRACES_SAMPLER',
      value: 'jaeger_remote',
      allowed:
        'always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio',
      env: spans,
    },
    {
      name: 'OTEL_TRACES_SAMPLER_ARG',
      value: '1.5',
      allowed: 'a number from 0 to 1',
      env: { ...spans, OTEL_TRACES_SAMPLER: 'traceidratio' },
    },
    {
      name: 'OTEL_TRACES_SAMPLER_ARG',
      value: '10%',
      allowed: 'a number from 0 to 1',
      env: { ...spans, OTEL_TRACES_SAMPLER: 'traceidratio' },
    },
  ];

  it.each(refused)('refuses $name = $value', ({ name, value, allowed, env = {} }) => {
    const read = (): unknown => readEnvironment({ ...env, [name]: value });
    expect(read).toThrow(new StartUpError(`${name} must be ${allowed}; got ${JSON.stringify(value)}`));
    expect(read).toThrow(StartUpError);
  });
});
