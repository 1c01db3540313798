import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseExposition, type Sample } from '../../examples/demo/exposition.ts';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/vllm-prometheus-exporter.ts';

const FIXTURE = new URL('../../../shared/fixtures/vllm-0.30-python-live.prom', import.meta.url);
const real = existsSync(FIXTURE) ? readFileSync(FIXTURE, 'utf8') : undefined;
const MISSING = 'no ../shared/fixtures beside this checkout: nothing was compared';

interface Family {
  readonly name: string;
  readonly type: string;
}

/** The families that a text declares. */
function familiesOf(text: string): Family[] {
  const declared = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return declared
    .map(([, name = '', type = '']) => ({ name, type }))
    .filter(({ name }) => !name.endsWith('_created'));
}

/** The rows of docs/parity.md. */
function parityRows(): (Family & { readonly covered: string; readonly reason: string })[] {
  const document = readFileSync(new URL('../../docs/parity.md', import.meta.url), 'utf8');
  const rows = [...document.matchAll(/^\| `([\w:]+)` *\| (\w+) *\| (yes|no) *\| (.*?) *\|$/gm)];
  return rows.map(([, name = '', type = '', covered = '', reason = '']) => ({ name, type, covered, reason }));
}

/** A series as name and labels, without its value. */
function identify({ name, labels }: Sample): string {
  const sorted = [...labels].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name}{${sorted.map(([label, value]) => `${label}="${value}"`).join(',')}}`;
}

/** A scrape after a run in which everything was configured as on the real server. */
async function scrapeConfiguredAs(server: readonly Sample[]): Promise<string> {
  const modelName = server.find(({ name }) => name === 'vllm:num_requests_running')?.labels.get('model_name');
  const config =
    server.find(({ name }) => name === 'vllm:cache_config_info')?.labels ?? new Map<string, string>();
  const bounds = server
    .filter(({ name }) => name === 'vllm:request_prompt_tokens_bucket')
    .map(({ labels }) => Number(labels.get('le')))
    .filter(Number.isFinite);
  const maxModelLen = Math.max(...bounds);
  const exporter = new VllmPrometheusExporter({ port: 0 });
  const provider = new MeterProvider({ readers: [exporter], views: vllmViews({ maxModelLen }) });
  onTestFinished(() => provider.shutdown());
  const vllm = new VllmInstrumentation({ modelName: modelName ?? '', maxModelLen });
  vllm.setMeterProvider(provider);
  const engine = vllm.engine(0);
  engine.recordCacheConfig(Object.fromEntries([...config].filter(([name]) => name !== 'engine')));
  vllm.recordToolCallParserInvocation({
    mode: 'streaming',
    outcome: 'tool_call',
    requestType: 'chat_completions',
  });
  engine.startRequest({ requestId: 'r', promptTokens: 10, maxTokens: 5 });
  vllm.observe({
    outputs: [
      {
        request_id: 'r',
        new_token_ids: [1],
        finish_reason: 0,
        events: [
          { type: 1, timestamp: 1 },
          { type: 2, timestamp: 2 },
          { type: 3, timestamp: 3 },
        ],
        prefill_stats: { num_prompt_tokens: 10, num_computed_tokens: 10 },
      },
    ],
    scheduler_stats: { num_running_reqs: 0, kv_cache_usage: 0.5, perf_stats: { num_flops_per_gpu: 1e12 } },
    timestamp: 4,
  });
  await exporter.startServer();
  return (await fetch(exporter.url ?? '')).text();
}

describe('docs/parity.md', () => {
  it('lists every family of a real server with its type, covered or with the reason why not', ({ skip }) => {
    skip(real === undefined, MISSING);
    const rows = parityRows();
    expect(rows.map(({ name, type }) => ({ name, type }))).toEqual(familiesOf(real ?? ''));
    for (const { name, covered, reason } of rows) {
      expect([name, covered === 'yes' || reason !== '']).toEqual([name, true]);
    }
  });

  it('claims every family of vLLM', ({ skip }) => {
    skip(real === undefined, MISSING);
    const claimed = parityRows().filter(({ covered }) => covered === 'yes');
    const ofVllm = familiesOf(real ?? '').filter(({ name }) => name.startsWith('vllm:'));
    expect(claimed.map(({ name }) => name)).toEqual(ofVllm.map(({ name }) => name));
  });
});

describe('a scrape with everything configured', () => {
  it('has the names, types, labels, label values and buckets of a real server', async ({ skip }) => {
    skip(real === undefined, MISSING);
    const server = parseExposition(real ?? '');
    const ours = await scrapeConfiguredAs(server);
    const claimed = parityRows().filter(({ covered }) => covered === 'yes');
    const isClaimed = ({ name }: Sample): boolean =>
      claimed.some(
        (family) => name.replace(/_(bucket|sum|count)$/, '') === family.name || name === family.name,
      );

    expect(familiesOf(ours)).toEqual(
      expect.arrayContaining(claimed.map(({ name, type }) => ({ name, type }))),
    );
    const expected = server.filter(isClaimed).map(identify);
    expect(expected.length).toBeGreaterThan(300);
    expect(parseExposition(ours).filter(isClaimed).map(identify).toSorted()).toEqual(expected.toSorted());
  });
});
