import { describe, expect, it } from 'vitest';
import { negotiateFormat, prefersGzip } from '../../src/prometheus/negotiation.ts';

const PROMETHEUS_2_30 =
  'application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_2_42 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
const PROMETHEUS_3_PROTOBUF_FIRST = `application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,${PROMETHEUS_3}`;
const PROMETHEUS_3_TEXT_FIRST =
  'text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.1';

describe('negotiateFormat', () => {
  it.each<[accept: string | undefined, format: 'text' | 'openmetrics']>([
    [undefined, 'text'],
    ['', 'text'],
    ['*/*', 'text'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text'],
    ['text/plain', 'text'],
    ['text/plain;version=1.0.0', 'text'],
    ['application/json', 'text'],
    [PROMETHEUS_2_30, 'text'],
    [PROMETHEUS_2_42, 'openmetrics'],
    [PROMETHEUS_3, 'openmetrics'],
    [PROMETHEUS_3_PROTOBUF_FIRST, 'openmetrics'],
    [PROMETHEUS_3_TEXT_FIRST, 'text'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version="1.0.0"; charset=utf-8', 'openmetrics'],
    ['Application/OpenMetrics-Text;Version=1.0.0;Q=0.9,text/plain;q=0.5', 'openmetrics'],
    ['application/openmetrics-text;version=2.0.0', 'text'],
    ['application/openmetrics-text;q=0', 'text'],
    ['application/openmetrics-text;q=0.3,text/plain;q=0.4', 'text'],
    ['application/openmetrics-text,*/*', 'openmetrics'],
    ['application/openmetrics-text,text/plain', 'text'],
    ['application/openmetrics-text;version=1.0.0,text/plain', 'openmetrics'],
    ['application/*,text/*;q=0.5', 'openmetrics'],
    ['application/openmetrics-text;q=0.1,application/*,text/plain;q=0.5', 'text'],
    ['application/openmetrics-text;q=high', 'text'],
    ['application/openmetrics-text;q=1.5', 'text'],
    [';;,,q=1', 'text'],
  ])('answers Accept: %s with %s', (accept, format) => {
    expect(negotiateFormat(accept).name).toBe(format);
  });
});

describe('prefersGzip', () => {
  it.each<[acceptEncoding: string | undefined, isPreferred: boolean]>([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['x-gzip', true],
    ['GZIP', true],
    ['gzip, deflate, br', true],
    ['deflate, br', false],
    ['*', true],
    ['gzip;q=0, *', false],
    ['gzip;q=0', false],
    ['gzip;q=0.001', true],
    ['identity', false],
    ['identity;q=1, gzip;q=0.5', false],
    ['identity;q=0.5, gzip;q=1', true],
    ['gzip;q=broken', false],
  ])('Accept-Encoding: %s gives %s', (acceptEncoding, isPreferred) => {
    expect(prefersGzip(acceptEncoding)).toBe(isPreferred);
  });
});
