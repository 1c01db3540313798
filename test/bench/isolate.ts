import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Allocations } from './allocations.ts';
import type { Counts } from './counts.ts';
import type { WorkName } from './works.ts';

/** What a round took: nanoseconds. */
export interface Round {
  readonly wall: number;
  /** Of all threads of the process, of which no other one works meanwhile. */
  readonly cpu: number;
}

/** What an isolate is started with. */
export interface IsolateData {
  readonly work: WorkName;
  /** Positions of the candidates that live in it. */
  readonly positions: readonly number[];
}

/** What an isolate is told to do. */
export interface Command {
  readonly kind: 'time' | 'allocations' | 'counts';
  readonly position: number;
  readonly units: number;
}

/**
 * A thread with an isolate of its own, where candidates live as in a service of their own: the compiler sees no other
 * one's types in the code that several share, and the garbage in its heap is its own.
 */
export class Isolate {
  /** Of the candidates, in the order of their positions. */
  readonly names: readonly string[];
  readonly #worker: Worker;
  #idle: Promise<unknown> = Promise.resolve();

  static async start(work: WorkName, positions: readonly number[]): Promise<Isolate> {
    const workerData: IsolateData = { work, positions };
    const worker = new Worker(new URL('isolate-thread.ts', import.meta.url), { workerData });
    return new Isolate(worker, await answerOf<readonly string[]>(worker));
  }

  private constructor(worker: Worker, names: readonly string[]) {
    this.#worker = worker;
    this.names = names;
  }

  time(position: number, units: number): Promise<Round> {
    return this.#ask({ kind: 'time', position, units });
  }

  allocations(position: number, units: number): Promise<Allocations> {
    return this.#ask({ kind: 'allocations', position, units });
  }

  counts(position: number): Promise<Counts> {
    return this.#ask({ kind: 'counts', position, units: 0 });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  /** One command after the other: an answer does not say to which it is one. */
  #ask<Answer>(command: Command): Promise<Answer> {
    const answer = this.#idle.then(() => {
      this.#worker.postMessage(command, []);
      return answerOf<Answer>(this.#worker);
    });
    this.#idle = answer;
    return answer;
  }
}

/** Rejects with what the thread throws. */
async function answerOf<Answer>(worker: Worker): Promise<Answer> {
  const [answer] = (await once(worker, 'message')) as [Answer];
  return answer;
}
