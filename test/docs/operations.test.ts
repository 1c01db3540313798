import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { VllmInstrumentation, vllmViews } from '../../src/index.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import type { Metric } from '../../src/metrics/metric.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { hasPromtool } from '../support/promtool.ts';

const folder = new URL('../../docs/', import.meta.url);
const text = readFileSync(new URL('operations.md', folder), 'utf8');
/** The same without line breaks. */
const prose = text.replaceAll(/\s+/g, ' ');
const yamlBlocks = [...text.matchAll(/^( *)```yaml\n([^]*?)\n\1```/gm)].map(([, indent, block]) =>
  block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
);

/** The names of the series that an engine has when nothing has happened yet. */
async function seriesOfAnEngine(maxModelLen?: number): Promise<string[]> {
  const exporter = new VllmPrometheusExporter({ port: 0, preventServerStart: true });
  await exporter.startServer();
  const provider = new MeterProvider({ readers: [exporter], views: [...vllmViews({ maxModelLen })] });
  onTestFinished(() => provider.shutdown());
  const vllm = new VllmInstrumentation({ modelName: 'my-model', maxModelLen });
  vllm.setMeterProvider(provider);
  vllm.engine(0);
  const lines = (await (await fetch(exporter.url!)).text()).split('\n');
  return lines.filter((line) => line.startsWith('vllm:')).map((line) => line.split('{')[0]!);
}

/** How many series a metric has at most, free label values apart. */
function mostSeriesOf(metric: Metric): number {
  const combinations = metric.labels.reduce(
    (product, label) => product * (metric.labelValues?.[label]?.length ?? 1),
    1,
  );
  // A bucket per boundary and one above, the sum and the count.
  return combinations * (metric.kind === 'histogram' ? metric.boundaries.length + 3 : 1);
}

function mostSeries(pattern: RegExp): number {
  return catalogue.reduce((sum, metric) => sum + (pattern.test(metric.name) ? mostSeriesOf(metric) : 0), 0);
}

describe('docs/operations.md', () => {
  it('counts the series of an engine as a scrape shows them', async () => {
    const series = await seriesOfAnEngine();
    const buckets = series.filter((name) => name.endsWith('_bucket'));
    expect(prose).toContain(
      `An engine has ${series.length} series from the start, ${buckets.length} of them buckets.`,
    );
    const [short, long] = [await seriesOfAnEngine(8192), await seriesOfAnEngine(1_048_576)];
    expect(prose).toContain(`with 8192 it has ${short.length} series, with 1048576 it has ${long.length}.`);
    const samples = series.length * (86_400 / 15) * 15;
    expect(prose).toContain(`${Math.round(samples / 1e6)} million samples an engine`);
    expect(prose).toContain(`${Math.round(samples / 1e6)} to ${Math.round((2 * samples) / 1e6)} MB`);
    expect(prose).toContain(`for the ${buckets.length} buckets of an engine`);
  });

  it.each([
    ['NIXL', /:nixl_/],
    ['KV offloading', /:kv_offload_/],
    ['`vllm.recordToolCallParserInvocation`', /:tool_call_parser_/],
  ])('counts the series that come with %s as the catalogue has them', (name, pattern) => {
    expect(prose).toContain(`| ${name} | ${mostSeries(pattern)}`);
  });

  it('counts those of the Mooncake store, one operation and status at a time', () => {
    const most = mostSeries(/:mooncake_/);
    const { labelValues } = catalogue.find(({ name }) => name === 'vllm:mooncake_store_operation')!;
    const pairs = labelValues!['operation']!.length * labelValues!['status']!.length;
    expect(prose).toContain(`${most / pairs} for each operation and status that occurs, at most ${most}`);
  });

  it('drops at the scrape as many series as it says, and none that the dashboard or the rules use', async () => {
    interface Relabelling {
      readonly source_labels: readonly string[];
      readonly regex: string;
    }
    const scraping = yamlBlocks
      .map((block) => parse(block) as { scrape_configs?: { metric_relabel_configs: Relabelling[] }[] })
      .find(({ scrape_configs: configs }) => configs !== undefined);
    const dropped = scraping!.scrape_configs![0]!.metric_relabel_configs.map(
      ({ regex }) => new RegExp(`^(?:${regex})$`),
    );
    const isDropped = (name: string): boolean => dropped.some((pattern) => pattern.test(name));
    const series = await seriesOfAnEngine();
    const kept = series.filter((name) => !isDropped(name));
    expect(prose).toContain(`That leaves ${kept.length} of the ${series.length} series.`);
    const users = ['grafana/vllm-requests.json', 'alerts/vllm-rules.yml'];
    const used = users.flatMap((path) => readFileSync(new URL(path, folder), 'utf8').match(/vllm:\w+/g)!);
    expect(used.filter(isDropped)).toEqual([]);
    expect(used).toContain('vllm:request_num_preemptions_bucket');
  });

  it.skipIf(!hasPromtool)('shows Prometheus only what it takes', () => {
    expect(yamlBlocks).toHaveLength(2);
    const directory = mkdtempSync(join(tmpdir(), 'vllm-operations-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    for (const [index, block] of yamlBlocks.entries()) {
      const path = join(directory, `${index}.yml`);
      writeFileSync(path, block);
      const { status, stderr } = spawnSync('promtool', ['check', 'config', path], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }
  });

  it('links to what is there, and defines each link that it uses', () => {
    const paths = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path!);
    expect(paths.filter((path) => !existsSync(new URL(path, folder)))).toEqual([]);
    const defined = [...text.matchAll(/^\[([^\]]+)\]: https:\/\/\S+$/gm)].map(([, name]) => name);
    const used = [...text.matchAll(/\[[^\]]+\]\[([^\]]+)\]|\[(#\d+)\](?!:)/g)].map(
      ([, name, issue]) => name ?? issue,
    );
    expect(new Set(used)).toEqual(new Set(defined));
  });
});
