import type { Delivery } from './delivery.ts';
import { overdue } from './overdue.ts';

/** Whether what had been recorded arrived. */
export type FlushOutcome =
  | {
      readonly delivered: true;
      /** How many data points arrived; 0 where there was nothing to send. */
      readonly dataPoints: number;
    }
  | {
      readonly delivered: false;
      /** `failed`: the collection or an export failed. `timeout`: the deadline came before the answer. */
      readonly reason: 'failed' | 'timeout';
      /** What the collection or the exporter said, or how long was waited. */
      readonly error: Error;
    };

const DEFAULT_TIMEOUT_MILLIS = 5000;

/** The longest delay of a Node.js timer: a longer one fires at once. */
const MAX_TIMEOUT_MILLIS = 2 ** 31 - 1;

/** One wait for deliveries. */
export class Confirmation {
  readonly #underWay: Delivery | undefined;
  #next: Delivery | undefined;

  /** @param latest - The delivery that began last; it may be under way. */
  constructor(latest: Delivery) {
    this.#underWay = latest.ended ? undefined : latest;
  }

  /** A delivery begins. The first one holds what had been recorded before the wait; later ones are no matter of it. */
  follow(delivery: Delivery): void {
    this.#next ??= delivery;
  }

  /**
   * Waits until `act`, which causes a delivery, is done and every export has an answer, or the time is over.
   *
   * Never rejects.
   */
  async outcome(act: () => Promise<void>, timeoutMillis: number | undefined): Promise<FlushOutcome> {
    const limit = limitOf(timeoutMillis);
    let failure: unknown;
    const done = this.#settled(act).catch((error: unknown) => {
      failure = error;
    });
    const timedOut = await overdue(done, limit);
    const deliveries = this.#deliveries();
    if (this.#next !== undefined && deliveries.every((delivery) => delivery.complete)) {
      const dataPoints = deliveries.reduce((sum, delivery) => sum + delivery.arrived, 0);
      return { delivered: true, dataPoints };
    }
    const error = deliveries.find((delivery) => delivery.error !== undefined)?.error;
    if (error !== undefined) return { delivered: false, reason: 'failed', error };
    if (timedOut)
      return { delivered: false, reason: 'timeout', error: new Error(`no answer in ${limit} ms`) };
    return { delivered: false, reason: 'failed', error: this.#explain(failure) };
  }

  async #settled(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } finally {
      // The SDK's reader waits for an answer no longer than its own timeout.
      await Promise.all(this.#deliveries().map((delivery) => delivery.exportsEnded()));
    }
  }

  #deliveries(): Delivery[] {
    const deliveries = this.#next === undefined ? [] : [this.#next];
    if (this.#underWay?.lostOnFailure === true) deliveries.push(this.#underWay);
    return deliveries;
  }

  #explain(failure: unknown): Error {
    if (failure instanceof Error) return failure;
    return new Error(
      this.#next === undefined
        ? 'nothing was collected: the reader has been shut down, or belongs to another provider'
        : 'the reader gave up before everything was sent: exportTimeoutMillis was over',
    );
  }
}

function limitOf(timeoutMillis: number | undefined): number {
  if (timeoutMillis === undefined || !(timeoutMillis > 0)) return DEFAULT_TIMEOUT_MILLIS;
  return Math.min(timeoutMillis, MAX_TIMEOUT_MILLIS);
}
