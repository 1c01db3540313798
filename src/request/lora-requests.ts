import type { GaugeSeries } from '../metrics/gauge-series.ts';
import type { SeriesStore } from '../metrics/series-store.ts';
import type { Clock } from './clock.ts';

const NAME = 'vllm:lora_requests_info';

/** Where a request with an adapter stands: neither before the engine has it, nor after its end. */
export type LoraPhase = 'waiting' | 'running' | undefined;

/**
 * Which LoRA adapters have waiting and running requests, over all engines of one instrumentation. Engines leave that to
 * the frontend. One series at a time tells it, in its labels; its value is the time of the last change.
 */
export class LoraRequests {
  readonly #store: SeriesStore;
  readonly #clock: Clock;
  readonly #maxLora: string;
  readonly #waiting = new Map<string, number>();
  readonly #running = new Map<string, number>();
  #series: GaugeSeries | undefined;
  // Wall clock, seconds; undefined until there is something to tell.
  #changedAt: number | undefined;

  /**
   * @param maxLoras - Adapters an engine runs at a time. Undefined where that is not known: the label is then empty,
   * and there is no series until a request with an adapter comes.
   */
  constructor(store: SeriesStore, clock: Clock, maxLoras: number | undefined) {
    this.#store = store;
    this.#clock = clock;
    this.#maxLora = maxLoras === undefined ? '' : String(maxLoras);
    if (maxLoras !== undefined) this.#changedAt = clock.wallSeconds();
  }

  /** A request of an adapter has started. */
  start(): void {
    this.#changedAt ??= this.#clock.wallSeconds();
  }

  /** A request of the adapter goes from one phase to another. */
  move(adapter: string, from: LoraPhase, to: LoraPhase): void {
    if (from === to) return;
    const { size: waiting } = this.#waiting;
    const { size: running } = this.#running;
    if (to !== undefined) count(this.#requestsIn(to), adapter, 1);
    if (from !== undefined) count(this.#requestsIn(from), adapter, -1);
    // What the labels say has changed where an adapter came into a set or left one.
    if (this.#waiting.size !== waiting || this.#running.size !== running) {
      this.#changedAt = this.#clock.wallSeconds();
    }
  }

  /** Brings the series up to date. To be called before a collection. */
  show(): void {
    if (this.#changedAt === undefined) return;
    const waiting = [...this.#waiting.keys()].toSorted().join(',');
    const running = [...this.#running.keys()].toSorted().join(',');
    const shown = this.#series?.attributes;
    if (shown?.waiting_lora_adapters !== waiting || shown.running_lora_adapters !== running) {
      if (this.#series !== undefined) this.#store.drop(NAME, this.#series);
      this.#series = this.#store.gauge(
        NAME,
        Object.freeze({
          max_lora: this.#maxLora,
          waiting_lora_adapters: waiting,
          running_lora_adapters: running,
        }),
      );
    }
    this.#series?.set(this.#changedAt);
  }

  #requestsIn(phase: 'waiting' | 'running'): Map<string, number> {
    return phase === 'waiting' ? this.#waiting : this.#running;
  }
}

function count(requests: Map<string, number>, adapter: string, change: number): void {
  const left = (requests.get(adapter) ?? 0) + change;
  if (left > 0) requests.set(adapter, left);
  else requests.delete(adapter);
}
