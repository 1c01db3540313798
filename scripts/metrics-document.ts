import { catalogue } from '../src/metrics/catalogue/index.ts';
import { requestMetrics } from '../src/metrics/catalogue/requests.ts';
import { schedulerMetrics } from '../src/metrics/catalogue/scheduler.ts';
import { tokenMetrics } from '../src/metrics/catalogue/tokens.ts';
import { instrumentName, type HistogramMetric, type Metric } from '../src/metrics/metric.ts';

/** Rows that nothing feeds yet; a test compares this with what an engine shows. */
export const NOT_RECORDED: readonly Metric['name'][] = [
  'vllm:mm_cache_queries',
  'vllm:mm_cache_hits',
  'vllm:engine_sleep_state',
  'vllm:cache_config_info',
  'vllm:lora_requests_info',
  'vllm:kv_block_lifetime_seconds',
  'vllm:kv_block_idle_before_evict_seconds',
  'vllm:kv_block_reuse_gap_seconds',
  'vllm:spec_decode_num_drafts',
  'vllm:spec_decode_num_draft_tokens',
  'vllm:spec_decode_num_accepted_tokens',
  'vllm:spec_decode_num_accepted_tokens_per_pos',
  'vllm:estimated_flops_per_gpu',
  'vllm:estimated_read_bytes_per_gpu',
  'vllm:estimated_write_bytes_per_gpu',
];

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
    'This version does not record these yet, which have a row and a View all the same: ' +
      `${NOT_RECORDED.map((name) => `\`${name}\``).join(', ')}.`,
    '',
    ...section('Once per ended request', requestMetrics),
    ...section('While requests run', tokenMetrics),
    ...section('The scheduler', schedulerMetrics),
    '## Buckets',
    '',
    'Upper bounds, inclusive; `+Inf` is implied.',
    '',
    ...bucketRows(),
    '',
  ].join('\n');
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
