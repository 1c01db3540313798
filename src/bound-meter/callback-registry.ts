import type {
  BatchObservableCallback,
  BatchObservableResult,
  Observable,
  ObservableCallback,
} from '@opentelemetry/api';
import { warn } from '../metrics/warn.ts';
import { CallbackRun, type Registration } from './callback-run.ts';
import type { ObservableStream } from './observable-stream.ts';

/** The callbacks of all observable instruments of one provider. */
export class CallbackRegistry {
  readonly #streams = new WeakMap<Observable, ObservableStream>();
  #registrations: readonly Registration[] = [];

  /** A new observable instrument of a stream. */
  createObservable(stream: ObservableStream): Observable {
    const observable: Observable = {
      addCallback: (callback) => {
        const call = (result: BatchObservableResult): void | Promise<void> =>
          callback({ observe: (value, attributes) => result.observe(observable, value, attributes) });
        this.#add('single', callback, [observable], call);
      },
      removeCallback: (callback) => this.#remove('single', callback, [observable]),
    };
    this.#streams.set(observable, stream);
    return observable;
  }

  addBatch(callback: BatchObservableCallback, observables: readonly Observable[]): void {
    this.#add('batch', callback, observables, (result) => callback(result));
  }

  removeBatch(callback: BatchObservableCallback, observables: readonly Observable[]): void {
    this.#remove('batch', callback, observables);
  }

  /**
   * Calls every callback for a producer, all at once. Never throws or rejects.
   *
   * @param stuck - Callbacks of an earlier collection that have not ended: they are not called again until they have,
   * or one that hangs would be there once more with every collection.
   * @param timeoutMillis - How long to wait for those that are asynchronous.
   */
  async callAll(
    producer: number,
    stuck: WeakSet<Registration>,
    timeoutMillis: number,
  ): Promise<readonly CallbackRun[]> {
    const runs = this.#registrations.map((registration) => new CallbackRun(registration, producer));
    const pending: Promise<void>[] = [];
    for (const run of runs) {
      const { registration } = run;
      if (stuck.has(registration)) {
        run.fail(new Error(`${nameOf(registration)} is still at an earlier collection`));
        continue;
      }
      const ending = run.start();
      if (ending === undefined) continue;
      stuck.add(registration);
      pending.push(ending.then(() => void stuck.delete(registration)));
    }
    if (pending.length > 0) await settledWithin(timeoutMillis, pending);
    for (const run of runs) {
      if (run.isPending) {
        run.fail(new Error(`${nameOf(run.registration)} took longer than ${timeoutMillis} ms`));
      }
    }
    return runs;
  }

  #add(
    kind: Registration['kind'],
    callback: ObservableCallback | BatchObservableCallback,
    observables: readonly Observable[],
    call: Registration['call'],
  ): void {
    const streams = this.#streamsOf(observables);
    if (streams.size === 0) warn('a callback was registered without an observable of this provider');
    else if (!this.#registrations.some((one) => isSame(one, kind, callback, streams))) {
      this.#registrations = [...this.#registrations, { kind, callback, streams, call }];
    }
  }

  #remove(
    kind: Registration['kind'],
    callback: ObservableCallback | BatchObservableCallback,
    observables: readonly Observable[],
  ): void {
    const streams = this.#streamsOf(observables);
    this.#registrations = this.#registrations.filter((one) => !isSame(one, kind, callback, streams));
  }

  /** Those that are of this provider; others cannot be observed here. */
  #streamsOf(observables: readonly Observable[]): ReadonlyMap<Observable, ObservableStream> {
    const streams = new Map<Observable, ObservableStream>();
    for (const observable of observables) {
      const stream = this.#streams.get(observable);
      if (stream !== undefined) streams.set(observable, stream);
    }
    return streams;
  }
}

function isSame(
  registration: Registration,
  kind: Registration['kind'],
  callback: object,
  streams: ReadonlyMap<Observable, ObservableStream>,
): boolean {
  return (
    registration.kind === kind &&
    registration.callback === callback &&
    registration.streams.size === streams.size &&
    [...streams.keys()].every((observable) => registration.streams.has(observable))
  );
}

function nameOf({ streams }: Registration): string {
  const names = new Set([...streams.values()].map(({ descriptor }) => descriptor.name));
  return `the callback of ${[...names].join(', ')}`;
}

async function settledWithin(millis: number, pending: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  // Not unreferenced: a process that only waits for the last collection would end without it.
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, millis);
  });
  await Promise.race([Promise.all(pending), timeUp]);
  clearTimeout(timer);
}
