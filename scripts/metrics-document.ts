import { catalogue } from '../src/metrics/catalogue/index.ts';
import { connectorMetrics } from '../src/metrics/catalogue/connectors.ts';
import { frontendMetrics } from '../src/metrics/catalogue/frontend.ts';
import { requestMetrics } from '../src/metrics/catalogue/requests.ts';
import { schedulerMetrics } from '../src/metrics/catalogue/scheduler.ts';
import { tokenMetrics } from '../src/metrics/catalogue/tokens.ts';
import { instrumentName, type HistogramMetric, type Metric } from '../src/metrics/metric.ts';

/** The metrics whose series do not exist as soon as the engine is known, by what they come with. */
export const COMES_LATER: ReadonlyMap<string, readonly Metric['name'][]> = new Map([
  ['the first statistics of them', ['vllm:num_requests_kv_fetch_by_stage']],
  ['the first accepted or configured position', ['vllm:spec_decode_num_accepted_tokens_per_pos']],
  ['`engine.recordCacheConfig`', ['vllm:cache_config_info']],
  ['the option `maxLoras`, or the first request with a `loraName`', ['vllm:lora_requests_info']],
  [
    'the option `isDiffusion`, in the place of those of speculative decoding',
    [
      'vllm:diffusion_num_denoising_steps',
      'vllm:diffusion_num_canvas_positions',
      'vllm:diffusion_num_committed_tokens',
    ],
  ],
  [
    "the first statistics of the connector; Mooncake's by operation and status",
    connectorMetrics.map(({ name }) => name),
  ],
  ['the first `vllm.recordToolCallParserInvocation`', frontendMetrics.map(({ name }) => name)],
]);

/** The text of docs/metrics.md. */
export function metricsDocument(): string {
  return [
    '<!-- Made from src/metrics/catalogue by `npm run docs`; do not edit by hand. -->',
    '',
    '# Metrics',
    '',
    `The ${catalogue.length} metrics of the catalogue. Counters are exposed to Prometheus with \`_total\` at the end, histograms as`,
    '`_bucket`, `_sum` and `_count`. None carries an OpenTelemetry unit, so no translator adds a suffix. Each is recorded',
    'with an instrument whose name has a dot in place of the colon; the Views of `vllmViews()` give the colon back.',
    'What each number means, rule by rule, is in [semantics.md](semantics.md).',
    '',
    'The series of an engine exist at zero as soon as it is known, but for these, which come with',
    '',
    ...[...COMES_LATER].map(([what, names]) => `- ${what}: ${nameAll(names)}`),
    '',
    ...section('Once per ended request', requestMetrics),
    ...section('While requests run', tokenMetrics),
    ...section('The scheduler', schedulerMetrics),
    ...section('KV connectors', connectorMetrics),
    ...section('The frontend', frontendMetrics),
    '## Buckets',
    '',
    'Upper bounds, inclusive; `+Inf` is implied.',
    '',
    ...bucketRows(),
    '',
  ].join('\n');
}

function nameAll(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function section(title: string, metrics: readonly Metric[]): string[] {
  return [
    `## ${title}`,
    '',
    '| metric | kind | unit | labels | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...metrics.map((metric) =>
      row(`\`${metric.name}\``, metric.kind, metric.unit, labels(metric), metric.description),
    ),
    '',
  ];
}

function labels(metric: Metric): string {
  const closed = metric.labels.map((label) => {
    const values = metric.labelValues?.[label];
    return values === undefined ? `\`${label}\`` : `\`${label}\` (${values.join(', ')})`;
  });
  return [...closed, ...(metric.openLabels === undefined ? [] : [metric.openLabels])].join(', ');
}

function bucketRows(): string[] {
  const byBoundaries = new Map<string, HistogramMetric[]>();
  for (const metric of catalogue) {
    if (metric.kind !== 'histogram') continue;
    const key = `${metric.boundaries.join(', ')}${metric.cappedByMaxModelLen ? '; with `maxModelLen`: 1-2-5 up to it' : ''}`;
    byBoundaries.set(key, [...(byBoundaries.get(key) ?? []), metric]);
  }
  return [
    '| histograms | boundaries |',
    '| --- | --- |',
    ...[...byBoundaries].map(([boundaries, metrics]) =>
      row(
        metrics.map((metric) => `\`${instrumentName(metric).slice('vllm.'.length)}\``).join(', '),
        boundaries,
      ),
    ),
  ];
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
}
