import type { GaugeSeries } from '../metrics/gauge-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { Statistics } from './statistics.ts';

const STAGES = ['waiting_to_start', 'in_progress', 'completed_waiting'] as const;

type RequestsByStage = Readonly<Record<string, number>>;

/** How far the KV of waiting requests has been fetched. The series appear with the first statistics of it. */
export class KvFetchRecorder {
  readonly #group: SeriesGroup;
  readonly #base: SeriesAttributes;
  readonly #statistics: Statistics;
  #series: ReadonlyMap<string, GaugeSeries> | undefined;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes, statistics: Statistics) {
    this.#group = group;
    this.#base = base;
    this.#statistics = statistics;
  }

  /** @param requestsByStage - A stage that is left out has none; nor has any, once they are known, without a map. */
  record(requestsByStage: RequestsByStage | null | undefined): void {
    const hasMap = requestsByStage !== undefined && requestsByStage !== null;
    if (!hasMap && this.#series === undefined) return;
    const given = this.#statistics.object('num_kv_fetch_reqs_by_stage', requestsByStage ?? NO_REQUESTS);
    if (given === undefined) return;
    this.#series ??= new Map(
      STAGES.map((stage) => [
        stage,
        this.#group.gauge('vllm:num_requests_kv_fetch_by_stage', Object.freeze({ ...this.#base, stage })),
      ]),
    );
    for (const [stage, series] of this.#series) {
      series.set(this.#statistics.level('num_kv_fetch_reqs_by_stage', given[stage]));
    }
  }
}

/** The wire's default. */
const NO_REQUESTS: RequestsByStage = {};
