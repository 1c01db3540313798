import type { EngineRequest } from './engine-request.ts';
import { Orphans } from './orphans.ts';

/** The requests of one engine that have not ended, by id. */
export class LiveRequests {
  /** Those that the application has dropped. */
  readonly orphans: Orphans = new Orphans();
  readonly #byId = new Map<string, EngineRequest>();
  // Requests whose id was taken: no message can name them, yet they are in flight and end like any other.
  readonly #unnamed = new Set<EngineRequest>();

  get size(): number {
    return this.#byId.size + this.#unnamed.size;
  }

  /** The request that the engine's messages mean by `id`. */
  get(id: string): EngineRequest | undefined {
    return this.#byId.get(id);
  }

  /** @returns False where a live request has the id already; the new one then can't be found by it. */
  add(id: string, request: EngineRequest): boolean {
    if (!this.#byId.has(id)) {
      this.#byId.set(id, request);
      return true;
    }
    this.#unnamed.add(request);
    return false;
  }

  remove(id: string, request: EngineRequest): void {
    if (this.#byId.get(id) === request) this.#byId.delete(id);
    else this.#unnamed.delete(request);
  }

  /** All of them, as they are now: ending one while going through the list is safe. */
  all(): readonly EngineRequest[] {
    return [...this.#byId.values(), ...this.#unnamed];
  }
}
