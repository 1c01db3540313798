import type { Row } from '../panel.ts';
import { ENGINE_LEGEND, gauge, PER_ENGINE, quantile, rateOf } from '../promql.ts';

/** One value for each engine. */
const perEngine = (aggregation: 'sum' | 'max', series: string): string =>
  `${aggregation} by (${PER_ENGINE.join(', ')}) (${series})`;

const RUNNING = gauge('vllm:num_requests_running');
/** `up` is Prometheus' own, one per target. */
const UP = 'up{job=~"$job", instance=~"$instance"}';
const upIsOfScrapes =
  '`up` exists for targets that Prometheus scrapes, not for services that push over OTLP.';

export const engineRow: Row = {
  title: 'Engines: which one is it?',
  panels: [
    {
      kind: 'table',
      title: 'Engines now',
      width: 24,
      height: 8,
      hidden: ['Time'],
      units: {
        'KV cache': 'percentunit',
        'preemptions/min': 'short',
        'generated tok/s': 'short',
        'TTFT p95': 's',
      },
      shows:
        'Each engine at the end of the chosen time: requests in its scheduler, KV cache, preemptions, tokens, TTFT. Several processes may have an engine 0: `job` and `instance` tell them apart.',
      whenBad:
        'one engine unlike the others: if it has more requests, mend the balancing; if it has as many and is slower, suspect its GPU and take it out. All alike: it is the load or the settings; go on with the rows above (`max_num_seqs`, `max_num_batched_tokens`, `gpu_memory_utilization`). An engine with requests running and no tokens hangs: restart it.',
      queries: [
        { expr: perEngine('sum', RUNNING), legend: 'running' },
        { expr: perEngine('sum', gauge('vllm:num_requests_waiting')), legend: 'waiting' },
        { expr: perEngine('max', gauge('vllm:kv_cache_usage_perc')), legend: 'KV cache' },
        { expr: `60 * ${rateOf('vllm:num_preemptions', PER_ENGINE)}`, legend: 'preemptions/min' },
        { expr: rateOf('vllm:generation_tokens', PER_ENGINE), legend: 'generated tok/s' },
        { expr: quantile(0.95, 'vllm:time_to_first_token_seconds', PER_ENGINE), legend: 'TTFT p95' },
      ],
    },
    {
      kind: 'lines',
      title: 'Engines and targets up',
      width: 12,
      height: 8,
      unit: 'short',
      shows:
        'How many engines report, and of the targets that Prometheus scrapes for these jobs how many there are and how many answer. Over OTLP nothing says that a service is gone: its series end, as late as the store looks back (mostly five minutes).',
      whenBad:
        'fewer up than targets: a service is down, or its scrape takes too long or fails; see the targets page of Prometheus. Fewer engines than expected with all targets up: an engine died, and its frontend lives; read its log, and check `data_parallel_size`.',
      queries: [
        { expr: `count(${perEngine('max', RUNNING)})`, legend: 'engines' },
        { expr: `sum(${UP})`, legend: 'targets up', mayBeEmpty: upIsOfScrapes },
        { expr: `count(${UP})`, legend: 'targets', mayBeEmpty: upIsOfScrapes },
      ],
    },
    {
      kind: 'states',
      title: 'Sleep state',
      width: 12,
      height: 8,
      states: [
        { text: 'awake', color: 'green' },
        { text: 'weights offloaded', color: 'yellow' },
        { text: 'weights discarded', color: 'orange' },
      ],
      shows: 'Whether each engine is awake, or asleep with its weights in host memory or discarded.',
      whenBad:
        'an engine that sleeps while requests wait elsewhere: wake it (`/wake_up`), and look at who sent it to sleep. One that never sleeps although it should: it was not started with `enable_sleep_mode`, or its frontend does not tell (`engine.recordSleep`).',
      queries: [
        {
          expr: `${perEngine('max', gauge('vllm:engine_sleep_state', 'sleep_state="weights_offloaded"'))} + 2 * ${perEngine('max', gauge('vllm:engine_sleep_state', 'sleep_state="discard_all"'))}`,
          legend: ENGINE_LEGEND,
        },
      ],
    },
    {
      kind: 'table',
      title: 'Cache configuration',
      width: 24,
      height: 7,
      hidden: ['Time', 'Value', '__name__'],
      shows: "Each engine's cache configuration, as it told its frontend: a column per setting.",
      whenBad:
        'engines that should be alike and are not: compare `gpu_memory_utilization`, `block_size`, `cache_dtype`, `enable_prefix_caching`. `num_gpu_blocks` × `block_size` is how many tokens the cache holds: divided by the length of a long request it says how many of them fit before something is preempted, and so what `max_num_seqs` is safe.',
      queries: [
        {
          expr: gauge('vllm:cache_config_info'),
          legend: 'Value',
          mayBeEmpty:
            'only a frontend that tells the configuration has it (`engine.recordCacheConfig`), and the metric has no model.',
        },
      ],
    },
  ],
};
