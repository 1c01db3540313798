import type { EngineCoreOutputs, VllmInstrumentation, VllmRequest } from 'opentelemetry-instrumentation-vllm';
import {
  decodeEngineCoreOutputs,
  EngineCoreDecodeError,
} from 'opentelemetry-instrumentation-vllm/engine-core';
import { leastLoaded } from '../simulated-engine/load-balancer.ts';
import type { WorkloadRequest } from '../simulated-engine/workload.ts';
import type { EngineCoreSockets } from './engine-core-sockets.ts';
import { FrontendLog } from './frontend-log.ts';
import { tokenIdsOf } from './prompt-token-ids.ts';

/** A client that waits for its answer. */
interface Client {
  readonly request: WorkloadRequest;
  readonly engine: number;
  /** Kept, for a request that is dropped before its engine has sent anything counts as aborted. */
  readonly measured: VllmRequest;
  /** Aborted when the client goes away. */
  readonly gone: AbortController;
  readonly done: () => void;
  tokens: number;
  patience: NodeJS.Timeout | undefined;
}

/**
 * A frontend before engines: sends each request to one of them, takes in what they send, and lets go of requests whose
 * clients have gone. Everything that concerns metrics is in the lines that have `vllm` in them.
 */
export class Frontend {
  readonly log: FrontendLog = new FrontendLog();
  readonly #vllm: VllmInstrumentation;
  readonly #sockets: EngineCoreSockets;
  readonly #engines: readonly number[];
  readonly #maxModelLen: number;
  readonly #clients = new Map<string, Client>();
  readonly #dead = new AbortController();
  #malformed = 0;
  #rejected = 0;

  /**
   * @param engines The indices of the engines.
   * @param maxModelLen Longest request, prompt and answer together, in tokens.
   */
  constructor(
    vllm: VllmInstrumentation,
    sockets: EngineCoreSockets,
    engines: readonly number[],
    maxModelLen: number,
  ) {
    this.#vllm = vllm;
    this.#sockets = sockets;
    this.#engines = engines;
    this.#maxModelLen = maxModelLen;
  }

  /** Messages that could not be read. */
  get malformed(): number {
    return this.#malformed;
  }

  /** Requests turned away because they fit no engine. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Aborted when an engine has died. */
  get dead(): AbortSignal {
    return this.#dead.signal;
  }

  /** Takes in the engines' messages until the sockets are closed. */
  async receive(): Promise<void> {
    for await (const frames of this.#sockets.outputs) {
      const message = this.#decode(frames);
      if (message?.engine_dead === true) this.engineDied();
      else if (message !== undefined) this.#handle(message);
    }
  }

  /** Serves a request; resolves when it has ended. */
  async serve(request: WorkloadRequest): Promise<void> {
    const { id, outputTokens, maxTokens } = request;
    const promptTokenIds = tokenIdsOf(request.prompt);
    if (promptTokenIds.length >= this.#maxModelLen) {
      this.#rejected += 1;
      return;
    }
    const engine = this.#chooseEngine();
    const gone = new AbortController();
    const measured = this.#vllm
      .engine(engine)
      .startRequest({ requestId: id, promptTokens: promptTokenIds.length, maxTokens, signal: gone.signal });
    this.log.start(request, engine);

    const ended = new Promise<void>((done) => {
      const client: Client = { request, engine, measured, gone, done, tokens: 0, patience: undefined };
      this.#clients.set(id, client);
      gone.signal.addEventListener('abort', () => this.#abort(client));
      this.#hangUpAfter(client, 0);
    });
    const arrivalTime = Date.now() / 1000;
    this.#send(engine, { kind: 'add', id, promptTokenIds, maxTokens, outputTokens, arrivalTime });
    await ended;
  }

  /** Lets all clients go. */
  hangUp(): void {
    for (const { gone } of this.#clients.values()) gone.abort();
  }

  /**
   * Gives up: every request in flight ends with `error`. Like vLLM's own client, it takes the death of one engine for
   * the end of all, since the frame does not say which one died.
   */
  engineDied(): void {
    this.#vllm.observe({ engine_dead: true });
    for (const client of this.#clients.values()) this.#release(client);
    this.#dead.abort();
  }

  #decode(frames: readonly Uint8Array[]): EngineCoreOutputs | undefined {
    try {
      return decodeEngineCoreOutputs(frames);
    } catch (error) {
      if (!(error instanceof EngineCoreDecodeError)) throw error;
      this.#malformed += 1;
      return undefined;
    }
  }

  #handle(message: EngineCoreOutputs): void {
    this.#vllm.observe(message);
    this.log.receive(message.engine_index ?? 0);
    // Here a frontend would turn the new tokens into text and stream them to the client.
    for (const { request_id: id, new_token_ids: tokens, finish_reason: reason } of message.outputs ?? []) {
      const client = this.#clients.get(id);
      if (client === undefined) continue;
      client.tokens += tokens?.length ?? 0;
      if (reason === undefined || reason === null) this.#hangUpAfter(client, client.tokens);
      else this.#release(client);
    }
  }

  #abort(client: Client): void {
    const { request, engine } = client;
    this.log.abort(request.id, engine);
    this.#release(client);
    this.#send(engine, { kind: 'abort', ids: [request.id] });
  }

  #release(client: Client): void {
    clearTimeout(client.patience);
    this.#clients.delete(client.request.id);
    client.done();
  }

  /** Does not wait: what is sent to an engine that is gone may stay where it is, and its death ends the request. */
  #send(...[engine, request]: Parameters<EngineCoreSockets['send']>): void {
    this.#sockets.send(engine, request).catch(() => {});
  }

  #chooseEngine(): number {
    const clients = [...this.#clients.values()];
    const loads = this.#engines.map((engine) => ({
      waiting: 0,
      running: clients.filter((client) => client.engine === engine).length,
    }));
    return this.#engines[leastLoaded(loads)] ?? 0;
  }

  #hangUpAfter(client: Client, tokens: number): void {
    const { hangUp } = client.request;
    if (hangUp === undefined || tokens < hangUp.afterTokens || client.patience !== undefined) return;
    client.patience = setTimeout(() => client.gone.abort(), hangUp.afterSeconds * 1000);
  }
}
