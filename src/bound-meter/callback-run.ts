import type { Attributes, BatchObservableResult, Observable } from '@opentelemetry/api';
import type { ObservableStream, ObservedSeries } from './observable-stream.ts';

/** A callback with the instruments that it may observe. */
export interface Registration {
  /** Callback, kind and instruments together identify it. */
  readonly callback: object;
  readonly kind: 'single' | 'batch';
  readonly streams: ReadonlyMap<Observable, ObservableStream>;
  readonly call: (result: BatchObservableResult) => void | Promise<void>;
}

class Observation {
  readonly stream: ObservableStream;
  readonly series: ObservedSeries;
  readonly value: number;

  constructor(stream: ObservableStream, series: ObservedSeries, value: number) {
    this.stream = stream;
    this.series = series;
    this.value = value;
  }
}

/** One call of one callback for one collection. What it observes counts only if it succeeds. */
export class CallbackRun {
  readonly registration: Registration;
  readonly #producer: number;
  readonly #observations: Observation[] = [];
  #outcome: 'pending' | 'succeeded' | { readonly error: unknown } = 'pending';

  constructor(registration: Registration, producer: number) {
    this.registration = registration;
    this.#producer = producer;
  }

  get isPending(): boolean {
    return this.#outcome === 'pending';
  }

  /** Why it failed; an error may be any value, hence the object around it. */
  get failure(): { readonly error: unknown } | undefined {
    return typeof this.#outcome === 'object' ? this.#outcome : undefined;
  }

  /**
   * Calls the callback. Never throws.
   *
   * @returns Undefined where it is done; else what resolves, and never rejects, when it is.
   */
  start(): Promise<void> | undefined {
    const succeed = (): void => this.#end('succeeded');
    const fail = (error: unknown): void => this.fail(error);
    try {
      const done = this.registration.call({
        observe: (metric, value, attributes) => this.#observe(metric, value, attributes),
      });
      if (typeof done?.then === 'function') return Promise.resolve(done).then(succeed, fail);
      succeed();
    } catch (error) {
      fail(error);
    }
    return undefined;
  }

  /** Gives up on it, unless it is done: what it observed counts for nothing, and it is not listened to any more. */
  fail(error: unknown): void {
    this.#end({ error });
  }

  /** Hands over what it observed, once it has succeeded. */
  takeEffect(): void {
    for (const { stream, series, value } of this.#observations) stream.observe(this.#producer, series, value);
  }

  #end(outcome: 'succeeded' | { readonly error: unknown }): void {
    if (this.isPending) this.#outcome = outcome;
  }

  #observe(metric: Observable, value: number, attributes: Attributes | undefined): void {
    const stream = this.registration.streams.get(metric);
    if (stream === undefined || !this.isPending) return;
    const admitted = stream.gate.passes(value) ? value : stream.gate.salvage(value);
    if (admitted === undefined) return;
    this.#observations.push(new Observation(stream, stream.resolve(this.#producer, attributes), admitted));
  }
}
