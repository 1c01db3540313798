import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import { Dealer, Push } from 'zeromq';
import type { SimulatedEngine } from '../simulated-engine/engine.ts';
import { encodeEngineCoreOutputs } from './encode-engine-core-outputs.ts';
import { decodeRequest } from './engine-core-request.ts';
import { identityOf } from './identity.ts';
import { segmentsOf } from './prompt-token-ids.ts';
import { encodeReadyResponse, type EngineCoreReadyResponse } from './ready-response.ts';

/** What the frontend is told where an engine can't go on; nothing follows it. */
const ENGINE_CORE_DEAD = 'ENGINE_CORE_DEAD';

/** How long that may take to leave. */
const LINGER_MILLIS = 1000;

/** How {@link serveEngine} is reached and ended. */
export interface ServeOptions {
  readonly engine: SimulatedEngine;
  readonly ready: EngineCoreReadyResponse;
  /** Address that the frontend's ROUTER is bound to. */
  readonly input: string;
  /** Address that the frontend's PULL is bound to. */
  readonly output: string;
  /** Told of each message just before it is sent. */
  readonly onMessage?: (message: EngineCoreOutputs) => void;
  /** Ends the engine. */
  readonly signal: AbortSignal;
}

/**
 * Connects a simulated engine to its frontend and runs it, each step taking the time that it takes, until the signal
 * says so.
 *
 * @throws whatever the engine can't cope with, a request that is none for example; the frontend is told that it is dead.
 */
export async function serveEngine(options: ServeOptions): Promise<void> {
  const { engine, signal } = options;
  const dealer = new Dealer({ routingId: identityOf(engine.index), linger: 0 });
  // No limit: a frontend that has gone must not keep the engine from ending.
  const push = new Push({ linger: 0, sendHighWaterMark: 0 });
  const ended = new AbortController();
  const end = (): void => {
    ended.abort();
    dealer.close();
  };
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    dealer.connect(options.input);
    push.connect(options.output);
    await dealer.send(encodeReadyResponse(options.ready));
    const arrivals = new EventEmitter();
    const loops = [readRequests(dealer, engine, arrivals), runSteps(push, arrivals, options, ended.signal)];
    const outcomes = await Promise.allSettled(loops.map((loop) => loop.finally(end)));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed === undefined) return;
    push.linger = LINGER_MILLIS;
    await push.send(ENGINE_CORE_DEAD);
    throw failed.reason;
  } finally {
    signal.removeEventListener('abort', end);
    end();
    push.close();
  }
}

async function readRequests(dealer: Dealer, engine: SimulatedEngine, arrivals: EventEmitter): Promise<void> {
  for await (const frames of dealer) {
    const request = decodeRequest(frames);
    if (request?.kind === 'add') engine.submit({ ...request, prompt: segmentsOf(request.promptTokenIds) });
    for (const id of request?.kind === 'abort' ? request.ids : []) engine.abort(id);
    arrivals.emit('request');
  }
}

async function runSteps(
  push: Push,
  arrivals: EventEmitter,
  { engine, onMessage }: ServeOptions,
  ended: AbortSignal,
): Promise<void> {
  const now = (): number => performance.now() / 1000;
  try {
    while (!ended.aborted) {
      const step = engine.step(now());
      if (step === undefined) {
        await once(arrivals, 'request', { signal: ended });
        continue;
      }
      await sleep(Math.max(step.endsAt - now(), 0) * 1000, undefined, { signal: ended });
      onMessage?.(step.message);
      await push.send(encodeEngineCoreOutputs(step.message));
    }
  } catch (error) {
    if (!ended.aborted) throw error;
  }
}
