import {
  addRun,
  invalidRunPart,
  mergeCudagraph,
  newCudagraph,
  type CudagraphInterval,
  type CudagraphTotal,
} from './cudagraph-interval.ts';
import type { CudagraphStat, SpecDecodingStats } from './messages.ts';
import { addNixl, mergeNixl, newNixl, type NixlInterval, type NixlTotal } from './nixl-interval.ts';
import type { NixlStats } from './nixl-recorder.ts';
import {
  addSpecDecode,
  mergeSpecDecode,
  newSpecDecode,
  type SpecDecodeInterval,
  type SpecDecodeTotal,
} from './spec-decode-interval.ts';

/** What was observed in an interval; undefined where nothing of the kind came. */
export interface ObservedInterval {
  readonly specDecode: SpecDecodeInterval | undefined;
  readonly cudagraph: CudagraphInterval | undefined;
  readonly nixl: NixlInterval | undefined;
}

/**
 * Gathers, between two lines of a stats log, what no series of the metrics can tell: accepted tokens per draft
 * position of the interval alone, the model's runs by their four parts, and durations for quantiles. Each log has
 * one accumulator of its own per engine, so that none takes from another. Bounded in size, whatever the engine sends; a
 * value that is negative, not finite or no number never enters (the recorders count it).
 */
export class IntervalAccumulator {
  #specDecode: SpecDecodeTotal | undefined;
  #cudagraph: CudagraphTotal | undefined;
  #nixl: NixlTotal | undefined;

  /** Adds the speculative decoding of one engine step. */
  observeSpecDecode(stats: SpecDecodingStats): void {
    addSpecDecode((this.#specDecode ??= newSpecDecode()), stats);
  }

  /** Adds one run of the model. One with a part that can't be right is left out. */
  observeCudagraph(stat: CudagraphStat): void {
    if (invalidRunPart(stat) === undefined) addRun((this.#cudagraph ??= newCudagraph()), stat);
  }

  /** Adds the NIXL connector's transfers since its previous statistics. */
  observeNixl(stats: Partial<NixlStats>): void {
    addNixl((this.#nixl ??= newNixl()), stats);
  }

  /** Takes what was observed since the last time, and begins anew. */
  drain(): ObservedInterval {
    const observed = { specDecode: this.#specDecode, cudagraph: this.#cudagraph, nixl: this.#nixl };
    this.#specDecode = undefined;
    this.#cudagraph = undefined;
    this.#nixl = undefined;
    return observed;
  }

  /** Adds what another accumulator had gathered; `other` stays as it is. */
  merge({ specDecode, cudagraph, nixl }: ObservedInterval): void {
    if (specDecode !== undefined) mergeSpecDecode((this.#specDecode ??= newSpecDecode()), specDecode);
    if (cudagraph !== undefined) mergeCudagraph((this.#cudagraph ??= newCudagraph()), cudagraph);
    if (nixl !== undefined) mergeNixl((this.#nixl ??= newNixl()), nixl);
  }
}
