import type { EngineRequest } from '../request/engine-request.ts';

/** Outputs of one step that are kept in order; those further on are looked up. */
const MAX_LENGTH = 4096;

/** How many requests may be missing, one after the other, before one is looked up. */
const MAX_GAP = 4;

/** So many look-ups in a row mean that a batch has another order, and that comparing on would be in vain. */
const MAX_MISSES = 16;

/**
 * The requests of an engine's last batch, in its order. A step's outputs come in much the same order as those of the
 * step before, so that most requests are found by comparing one id: hashing a fresh string takes longer than all the
 * rest of an output.
 */
export class RequestOrder {
  // Written over from batch to batch: an array that is emptied gives its room back, and takes it anew.
  #last: (EngineRequest | undefined)[] = [];
  #lastLength = 0;
  // Holds the batch before the last one until it is written over: most of it is there already.
  #next: (EngineRequest | undefined)[] = [];
  #nextLength = 0;
  #cursor = 0;
  #misses = 0;

  /** The request of this id where it follows the one found before; undefined does not mean that there is none. */
  find(id: string | undefined): EngineRequest | undefined {
    if (this.#misses === MAX_MISSES) return undefined;
    const last = this.#last;
    const end = this.#lastLength;
    let gap = 0;
    for (let position = this.#cursor; position < end && gap < MAX_GAP; position += 1) {
      const request = last[position];
      if (request === undefined || request.ended) continue;
      if (request.id === id) {
        this.#cursor = position + 1;
        this.#misses = 0;
        return request;
      }
      gap += 1;
    }
    this.#misses += 1;
    return undefined;
  }

  /** Notes the request of the next output of this batch. */
  add(request: EngineRequest): void {
    const position = this.#nextLength;
    if (position === MAX_LENGTH) return;
    if (this.#next[position] !== request) this.#next[position] = request;
    this.#nextLength = position + 1;
  }

  /** To be called after a batch. */
  turn(): void {
    const last = this.#last;
    const next = this.#next;
    // Nothing is held on to that is in neither of the last two batches.
    for (let position = this.#nextLength; next[position] !== undefined; position += 1) {
      next[position] = undefined;
    }
    this.#last = next;
    this.#lastLength = this.#nextLength;
    this.#next = last;
    this.#nextLength = 0;
    this.#cursor = 0;
    this.#misses = 0;
  }
}
