import { resourceFromAttributes } from '@opentelemetry/resources';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { vllmViews } from '../../src/metrics/views.ts';
import { startEndpoint, type Endpoint } from './endpoint.ts';
import { checkMetrics, hasPromtool, importOpenMetrics } from '../support/promtool.ts';

/** An exposition with every kind of metric, and with all that has to be escaped or renamed. */
async function startVariedEndpoint(): Promise<Endpoint> {
  const resource = resourceFromAttributes({ 'service.name': 'gate"way\\\n' });
  const endpoint = await startEndpoint({ scopeLabels: true }, { resource, views: vllmViews() });
  const vllm = endpoint.provider.getMeter('opentelemetry-instrumentation-vllm');
  const labels = { model_name: 'm', engine: '0' };
  const description = 'From vLLM.';
  vllm.createCounter('vllm.num_preemptions', { description }).add(3, labels);
  vllm.createHistogram('vllm.request_num_preemptions', { description }).record(3, labels);
  vllm.createHistogram('vllm.iteration_tokens_total', { description }).record(300, labels);
  vllm.createGauge('vllm.kv_cache_usage_perc', { description }).record(0.5, labels);
  const app = endpoint.provider.getMeter('app', '1.0');
  app.createHistogram('http.server.request.duration', { description: 'a "b"\n\\c', unit: 's' }).record(0.2);
  app
    .createUpDownCounter('queue size!', { description })
    .add(-1e9, { '9 lives': 'é"\\\n', 'a.b': 1, a_b: 2 });
  app.createGauge('limits', { description }).record(Infinity);
  app.createCounter('bytes', { unit: 'By', description }).add(5e12);
  app.createGauge('seconds', { unit: 's' }).record(NaN);
  app.createGauge('jobs').record(1);
  app.createCounter('jobs').add(1);
  return endpoint;
}

describe.skipIf(!hasPromtool)('promtool', () => {
  it('parses the text format', async () => {
    const { text } = await startVariedEndpoint();
    const exposition = await text();
    // Its linter dislikes colons, and metrics of this test without HELP.
    expect(checkMetrics(exposition)).toBe('parsed, with remarks');
    expect(checkMetrics(`${exposition}broken{ 1\n`)).toBe('not parsed');
  });

  it('imports the OpenMetrics format', async () => {
    const { openMetrics } = await startVariedEndpoint();
    // An import wants a timestamp on every sample, which an exporter must not give.
    const stamped = (await openMetrics()).replaceAll(/^([^#\n].*)$/gm, '$1 1700000000');
    const directory = mkdtempSync(join(tmpdir(), 'exposition-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'exposition.txt');
    writeFileSync(file, stamped);
    expect(importOpenMetrics(file, join(directory, 'data'))).toBe('');
    writeFileSync(file, stamped.replace('# EOF\n', ''));
    expect(importOpenMetrics(file, join(directory, 'data'))).toContain('data does not end with # EOF');
  });
});
