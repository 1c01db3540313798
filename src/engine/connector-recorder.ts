import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { IntervalAccumulator } from './interval-accumulator.ts';
import { isMooncakeStats, MooncakeRecorder } from './mooncake-recorder.ts';
import { isNixlStats, NixlRecorder } from './nixl-recorder.ts';
import { isOffloadingStats, OffloadingRecorder } from './offloading-recorder.ts';
import type { Statistics } from './statistics.ts';

type Payload = Readonly<Record<string, unknown>>;

/**
 * Records what KV connectors report. The payload has no type tag: which connector it is of shows in its content. The
 * series of a connector appear with its first statistics.
 */
export class ConnectorRecorder {
  readonly #group: SeriesGroup;
  readonly #base: SeriesAttributes;
  readonly #statistics: Statistics;
  readonly #accumulators: ReadonlySet<IntervalAccumulator>;
  #nixl: NixlRecorder | undefined;
  #mooncake: MooncakeRecorder | undefined;
  #offloading: OffloadingRecorder | undefined;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(
    group: SeriesGroup,
    base: SeriesAttributes,
    statistics: Statistics,
    accumulators: ReadonlySet<IntervalAccumulator>,
  ) {
    this.#group = group;
    this.#base = base;
    this.#statistics = statistics;
    this.#accumulators = accumulators;
  }

  /** @param stats - One payload, or several by the class names of their connectors; each bare or as `{ data }`. */
  record(stats: Payload): void {
    const payload = unwrap(stats);
    if (this.#recordPayload(payload)) return;
    for (const part of Object.values(payload)) {
      if (isObject(part)) this.#recordPayload(unwrap(part));
    }
  }

  /** @returns Whether it is the payload of a connector that is known. */
  #recordPayload(payload: Payload): boolean {
    if (isNixlStats(payload)) {
      this.#nixl ??= new NixlRecorder(this.#group, this.#base, this.#statistics);
      this.#nixl.record(payload);
      for (const accumulator of this.#accumulators) accumulator.observeNixl(payload);
      return true;
    }
    if (isMooncakeStats(payload)) {
      this.#mooncake ??= new MooncakeRecorder(this.#group, this.#base, this.#statistics);
      this.#mooncake.record(payload);
      return true;
    }
    if (isOffloadingStats(payload)) {
      this.#offloading ??= new OffloadingRecorder(this.#group, this.#base, this.#statistics);
      this.#offloading.record(payload);
      return true;
    }
    return false;
  }
}

function unwrap(payload: Payload): Payload {
  return isObject(payload['data']) ? payload['data'] : payload;
}

function isObject(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
