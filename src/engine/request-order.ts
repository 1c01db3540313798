import type { EngineRequest } from '../request/engine-request.ts';

/** Outputs of one step that are kept in order; those further on are looked up. */
const MAX_LENGTH = 4096;

/** How many requests may be missing, one after the other, before the rest of a batch is looked up. */
const MAX_GAP = 4;

/**
 * The requests of an engine's last batch, in its order. A step's outputs come in much the same order as those of the
 * step before, so that most requests are found by comparing one id: hashing a fresh string takes longer than all the
 * rest of an output.
 */
export class RequestOrder {
  // Written over from batch to batch: an array that is emptied gives its room back, and takes it anew.
  #last: (EngineRequest | undefined)[] = [];
  #lastLength = 0;
  #next: (EngineRequest | undefined)[] = [];
  #nextLength = 0;
  #cursor = 0;

  /** The request of this id where it follows the one found before; undefined does not mean that there is none. */
  find(id: string): EngineRequest | undefined {
    const last = this.#last;
    let cursor = this.#cursor;
    let gap = 0;
    while (cursor < this.#lastLength && gap < MAX_GAP) {
      const request = last[cursor];
      cursor += 1;
      if (request === undefined || request.ended) continue;
      if (request.id === id) {
        this.#cursor = cursor;
        return request;
      }
      gap += 1;
    }
    return undefined;
  }

  /** Notes the request of the next output of this batch. */
  add(request: EngineRequest): void {
    if (this.#nextLength === MAX_LENGTH) return;
    this.#next[this.#nextLength] = request;
    this.#nextLength += 1;
  }

  /** To be called after a batch. */
  turn(): void {
    const last = this.#last;
    // Nothing is held on to that is not in the batch.
    last.fill(undefined, 0, this.#lastLength);
    this.#last = this.#next;
    this.#lastLength = this.#nextLength;
    this.#next = last;
    this.#nextLength = 0;
    this.#cursor = 0;
  }
}
