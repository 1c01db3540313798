import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import type { SimulatedEngine } from './engine.ts';
import { EventQueue } from './event-queue.ts';
import { leastLoaded, type LoadBalancer } from './load-balancer.ts';
import { RequestLog } from './request-log.ts';
import { countTokens } from './token-sequence.ts';
import type { HangUp, WorkloadRequest } from './workload.ts';

/**
 * Something that a frontend before the engines gets to see, at its time in seconds since the simulation began:
 * a request arrives and goes to an engine, a request fits no engine, a message of an engine comes in, a client
 * has gone away.
 */
export type SimulationEvent =
  | {
      readonly kind: 'arrival';
      readonly at: number;
      readonly request: WorkloadRequest;
      readonly engine: number;
    }
  | { readonly kind: 'rejection'; readonly at: number; readonly request: WorkloadRequest }
  | { readonly kind: 'message'; readonly at: number; readonly message: EngineCoreOutputs }
  | { readonly kind: 'abort'; readonly at: number; readonly id: string };

/** Settings of a simulation. */
export interface SimulationOptions {
  readonly engines: readonly SimulatedEngine[];
  /** Requests in the order of their arrival. */
  readonly workload: Iterable<WorkloadRequest>;
  /** Default {@link leastLoaded}. */
  readonly loadBalancer?: LoadBalancer;
  /** Seconds that a message takes from engine to frontend. Default 0.0005. */
  readonly transitSeconds?: number;
}

type Occurrence =
  | { readonly kind: 'arrival'; readonly request: WorkloadRequest }
  | { readonly kind: 'step'; readonly engine: SimulatedEngine }
  | { readonly kind: 'delivery'; readonly message: EngineCoreOutputs }
  | { readonly kind: 'hang-up'; readonly id: string };

/**
 * Engines, clients and the wires between them, in virtual time: it runs as fast as its events are taken, and
 * all that happens depends on its settings alone. Each iteration step is what a frontend would see next.
 *
 * ```ts
 * for (const event of new Simulation({ engines, workload })) …
 * ```
 */
export class Simulation implements Iterable<SimulationEvent> {
  readonly log: RequestLog = new RequestLog();
  readonly engines: readonly SimulatedEngine[];
  readonly #loadBalancer: LoadBalancer;
  readonly #transitSeconds: number;
  readonly #arrivals: Iterator<WorkloadRequest>;
  readonly #queue = new EventQueue<Occurrence>();
  readonly #stepping = new Set<SimulatedEngine>();
  readonly #hangUps = new Map<string, HangUp>();

  constructor(options: SimulationOptions) {
    this.engines = options.engines;
    this.#loadBalancer = options.loadBalancer ?? leastLoaded;
    this.#transitSeconds = options.transitSeconds ?? 0.0005;
    this.#arrivals = options.workload[Symbol.iterator]();
    this.#expectArrival();
  }

  /** Goes on where an earlier iteration left off, and ends when every request has. */
  *[Symbol.iterator](): Generator<SimulationEvent, void> {
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      const { at, value } = next;
      if (value.kind === 'arrival') yield this.#arrive(value.request, at);
      else if (value.kind === 'step') this.#step(value.engine, at);
      else if (value.kind === 'delivery') yield this.#deliver(value.message, at);
      else if (this.log.live(value.id) !== undefined) yield this.#abort(value.id, at);
    }
  }

  #expectArrival(): void {
    const { value, done } = this.#arrivals.next();
    if (done !== true) this.#queue.add(value.arrival, { kind: 'arrival', request: value });
  }

  #arrive(request: WorkloadRequest, at: number): SimulationEvent {
    this.#expectArrival();
    const engine = this.engines[this.#loadBalancer(this.engines.map(({ load }) => load))];
    if (engine === undefined || !engine.accepts(countTokens(request.prompt))) {
      this.log.reject();
      return { kind: 'rejection', at, request };
    }
    this.log.begin(request, engine.index, engine.submit(request));
    this.#wake(engine, at);
    if (request.hangUp !== undefined) this.#hangUps.set(request.id, request.hangUp);
    this.#hangUpAfter(request.id, 0, at);
    return { kind: 'arrival', at, request, engine: engine.index };
  }

  #step(engine: SimulatedEngine, at: number): void {
    const step = engine.step(at);
    if (step === undefined) {
      this.#stepping.delete(engine);
      return;
    }
    this.#queue.add(step.endsAt, { kind: 'step', engine });
    this.#queue.add(step.endsAt + this.#transitSeconds, { kind: 'delivery', message: step.message });
  }

  #deliver(message: EngineCoreOutputs, at: number): SimulationEvent {
    this.log.receive(message, at);
    for (const { request_id: id } of message.outputs ?? []) {
      this.#hangUpAfter(id, this.log.live(id)?.reported.generatedTokens, at);
    }
    return { kind: 'message', at, message };
  }

  #abort(id: string, at: number): SimulationEvent {
    const record = this.log.live(id);
    this.log.abort(id, at);
    for (const engine of this.engines) {
      if (engine.index !== record?.engine) continue;
      engine.abort(id);
      this.#wake(engine, at);
    }
    return { kind: 'abort', at, id };
  }

  /** An engine that has run out of work takes no steps until it gets some. */
  #wake(engine: SimulatedEngine, at: number): void {
    if (this.#stepping.has(engine)) return;
    this.#stepping.add(engine);
    this.#queue.add(at, { kind: 'step', engine });
  }

  #hangUpAfter(id: string, tokens: number | undefined, at: number): void {
    const hangUp = this.#hangUps.get(id);
    if (hangUp === undefined || hangUp.afterTokens !== tokens) return;
    this.#queue.add(at + hangUp.afterSeconds, { kind: 'hang-up', id });
  }
}
