import type { CounterSeries } from '../metrics/counter-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { IntervalAccumulator } from './interval-accumulator.ts';
import type { SpecDecodingStats } from './messages.ts';
import { MAX_POSITIONS } from './spec-decode-interval.ts';
import type { Statistics } from './statistics.ts';

/** Adds up what speculative decoding, or the denoising of a diffusion model, did. */
export class SpecDecodeRecorder {
  readonly #group: SeriesGroup;
  readonly #base: SeriesAttributes;
  readonly #statistics: Statistics;
  readonly #accumulators: ReadonlySet<IntervalAccumulator>;
  readonly #hasPositions: boolean;
  readonly #drafts: CounterSeries;
  readonly #draftTokens: CounterSeries;
  readonly #acceptedTokens: CounterSeries;
  readonly #acceptedAt: CounterSeries[] = [];

  /**
   * @param base - The `model_name` and `engine` of the engine.
   * @param isDiffusion - The same statistics of a diffusion model count steps, positions and committed tokens.
   */
  constructor(
    group: SeriesGroup,
    base: SeriesAttributes,
    isDiffusion: boolean,
    statistics: Statistics,
    accumulators: ReadonlySet<IntervalAccumulator>,
  ) {
    this.#group = group;
    this.#base = base;
    this.#statistics = statistics;
    this.#accumulators = accumulators;
    this.#hasPositions = !isDiffusion;
    if (isDiffusion) {
      this.#drafts = group.counter('vllm:diffusion_num_denoising_steps', base);
      this.#draftTokens = group.counter('vllm:diffusion_num_canvas_positions', base);
      this.#acceptedTokens = group.counter('vllm:diffusion_num_committed_tokens', base);
    } else {
      this.#drafts = group.counter('vllm:spec_decode_num_drafts', base);
      this.#draftTokens = group.counter('vllm:spec_decode_num_draft_tokens', base);
      this.#acceptedTokens = group.counter('vllm:spec_decode_num_accepted_tokens', base);
    }
  }

  record(stats: SpecDecodingStats): void {
    const statistics = this.#statistics;
    this.#drafts.add(statistics.amount('num_drafts', stats.num_drafts));
    this.#draftTokens.add(statistics.amount('num_draft_tokens', stats.num_draft_tokens));
    this.#acceptedTokens.add(statistics.amount('num_accepted_tokens', stats.num_accepted_tokens));
    if (!this.#hasPositions) return;
    this.#addPositions(stats);
    for (const accumulator of this.#accumulators) accumulator.observeSpecDecode(stats);
  }

  /** Every position that can be accepted at has a series from the first statistics on. */
  #addPositions(stats: SpecDecodingStats): void {
    const statistics = this.#statistics;
    const accepted = statistics.list('num_accepted_tokens_per_pos', stats.num_accepted_tokens_per_pos);
    const configured = Number(statistics.amount('num_spec_tokens', stats.num_spec_tokens));
    const positions = Math.min(Math.max(configured, accepted.length), MAX_POSITIONS);
    while (this.#acceptedAt.length < positions)
      this.#acceptedAt.push(this.#seriesAt(this.#acceptedAt.length));
    for (let position = 0; position < Math.min(accepted.length, MAX_POSITIONS); position += 1) {
      this.#acceptedAt[position]?.add(statistics.amount('num_accepted_tokens_per_pos', accepted[position]));
    }
  }

  #seriesAt(position: number): CounterSeries {
    const attributes = Object.freeze({ ...this.#base, position: String(position) });
    return this.#group.counter('vllm:spec_decode_num_accepted_tokens_per_pos', attributes);
  }
}
