import type { EngineRequest } from './engine-request.ts';
import { Orphans } from './orphans.ts';

/** How many ended ids are remembered at least, and half of how many at most. */
const REMEMBERED_IDS = 1024;

/** The requests of one engine that have not ended, by id, and the ids of those that ended a short while ago. */
export class LiveRequests {
  /** Those that the application has dropped. */
  readonly orphans: Orphans = new Orphans();
  readonly #byId = new Map<string, EngineRequest>();
  // Requests whose id was taken: no message can name them, yet they are in flight and end like any other.
  readonly #unnamed = new Set<EngineRequest>();
  // Two generations, of which the older is dropped when the younger is full.
  #ended = new Set<string>();
  #endedEarlier = new Set<string>();
  #used = false;

  get size(): number {
    return this.#byId.size + this.#unnamed.size;
  }

  /** Whether there has ever been one. */
  get used(): boolean {
    return this.#used;
  }

  /** The request that the engine's messages mean by `id`. */
  get(id: string): EngineRequest | undefined {
    return this.#byId.get(id);
  }

  /** @returns False where a live request has the id already; the new one then can't be found by it. */
  add(id: string, request: EngineRequest): boolean {
    this.#used = true;
    if (!this.#byId.has(id)) {
      this.#byId.set(id, request);
      return true;
    }
    this.#unnamed.add(request);
    return false;
  }

  /** @returns Whether it was the one that the engine's messages mean by `id`. */
  remove(id: string, request: EngineRequest): boolean {
    if (this.#byId.get(id) === request) return this.#byId.delete(id);
    this.#unnamed.delete(request);
    return false;
  }

  /** Remembers the id of a request that has ended: the engine may speak of it once more. */
  rememberEnded(id: string): void {
    if (this.#ended.size >= REMEMBERED_IDS) {
      this.#endedEarlier = this.#ended;
      this.#ended = new Set();
    }
    this.#ended.add(id);
  }

  /** Whether a request of this id ended a short while ago. */
  endedLately(id: string): boolean {
    return this.#ended.has(id) || this.#endedEarlier.has(id);
  }

  /** @returns {@link endedLately}, which is forgotten with this. */
  forgetEnded(id: string): boolean {
    const ended = this.#ended.delete(id);
    return this.#endedEarlier.delete(id) || ended;
  }

  /** All of them, as they are now: ending one while going through the list is safe. */
  all(): readonly EngineRequest[] {
    return [...this.#byId.values(), ...this.#unnamed];
  }
}
