import type { CounterSeries } from '../metrics/counter-series.ts';
import type { GaugeSeries } from '../metrics/gauge-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { MultiModalCacheStats } from './messages.ts';
import type { Statistics } from './statistics.ts';

/** 0 keeps everything and only stops, 1 moves the weights to the host's memory, 2 discards them and the KV cache. */
export type SleepLevel = 0 | 1 | 2;

/** More fields than any version of vLLM's cache configuration has. */
const MAX_CONFIG_FIELDS = 128;

/** What the frontend, and not the engine, knows of an engine: its configuration, its sleep, its multimodal cache. */
export class FrontendSeries {
  readonly #group: SeriesGroup;
  readonly #base: SeriesAttributes;
  readonly #statistics: Statistics;
  readonly mmCacheQueries: CounterSeries;
  readonly mmCacheHits: CounterSeries;
  readonly #awake: GaugeSeries;
  readonly #weightsOffloaded: GaugeSeries;
  readonly #discardAll: GaugeSeries;
  #cacheConfig: GaugeSeries | undefined;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes, statistics: Statistics) {
    const sleepState = (state: string): GaugeSeries =>
      group.gauge('vllm:engine_sleep_state', Object.freeze({ ...base, sleep_state: state }));
    this.#group = group;
    this.#base = base;
    this.#statistics = statistics;
    this.mmCacheQueries = group.counter('vllm:mm_cache_queries', base);
    this.mmCacheHits = group.counter('vllm:mm_cache_hits', base);
    this.#awake = sleepState('awake');
    this.#weightsOffloaded = sleepState('weights_offloaded');
    this.#discardAll = sleepState('discard_all');
    this.#awake.set(1);
  }

  recordWake(): void {
    this.#setSleep(1, 0, 0);
  }

  recordSleep(level: SleepLevel): void {
    if (level !== 0 && level !== 1 && level !== 2) this.#statistics.reject('a sleep level', level);
    else this.#setSleep(0, level === 1 ? 1 : 0, level === 2 ? 1 : 0);
  }

  recordMultiModalCacheStats(stats: MultiModalCacheStats): void {
    const given = this.#statistics.object('statistics of the multimodal cache', stats);
    if (given === undefined) return;
    this.mmCacheQueries.add(this.#statistics.amount('queries', given.queries));
    this.mmCacheHits.add(this.#statistics.amount('hits', given.hits));
  }

  /** One series at a time: another configuration takes the place of the one before. */
  recordCacheConfig(config: Readonly<Record<string, unknown>>): void {
    const given = this.#statistics.object('a cache configuration', config);
    if (given === undefined) return;
    const labels: Record<string, string> = {};
    for (const [name, value] of Object.entries(given).slice(0, MAX_CONFIG_FIELDS)) {
      if (LABEL_NAME.test(name)) labels[name] = pythonText(value);
      else this.#statistics.reject('a field of the cache configuration', name);
    }
    if (this.#cacheConfig !== undefined) this.#group.drop(this.#cacheConfig);
    const attributes = Object.freeze({ ...labels, engine: this.#base['engine'] ?? '' });
    this.#cacheConfig = this.#group.gauge('vllm:cache_config_info', attributes);
    this.#cacheConfig.set(1);
  }

  #setSleep(awake: number, weightsOffloaded: number, discardAll: number): void {
    this.#awake.set(awake);
    this.#weightsOffloaded.set(weightsOffloaded);
    this.#discardAll.set(discardAll);
  }
}

/** Prometheus' label names, those for its own use left out. */
const LABEL_NAME = /^(?!__)[A-Za-z_]\w*$/;

/** As Python's `str()` writes it, which is what vLLM puts into the labels. */
function pythonText(value: unknown): string {
  if (value === undefined || value === null) return 'None';
  if (value === true) return 'True';
  return value === false ? 'False' : String(value);
}
