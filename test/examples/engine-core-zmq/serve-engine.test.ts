import { describe, expect, it, onTestFinished } from 'vitest';
import { EngineCoreSockets } from '../../../examples/engine-core-zmq/engine-core-sockets.ts';
import type { EngineCoreReadyResponse } from '../../../examples/engine-core-zmq/ready-response.ts';
import { serveEngine } from '../../../examples/engine-core-zmq/serve-engine.ts';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import { decodeEngineCoreOutputs } from '../../../src/engine-core/decode-engine-core-outputs.ts';
import type { EngineCoreOutputs } from '../../../src/engine/messages.ts';

const READY: EngineCoreReadyResponse = {
  max_model_len: 160_000,
  num_gpu_blocks: 10_000,
  block_size: 16,
  vllm_version: 'simulated',
  data_parallel_rank: 200,
};

const QUICK = { perStep: 0.0001, perPrefillToken: 0, perDecode: 0, perContextToken: 0 };

const add = (id: string, promptTokenIds: readonly number[], outputTokens: number) =>
  ({ kind: 'add', id, promptTokenIds, maxTokens: undefined, outputTokens, arrivalTime: 0 }) as const;

/** Engine 200 behind real sockets, until the test ends. */
const start = async () => {
  const sockets = await EngineCoreSockets.bind();
  const stop = new AbortController();
  const sent: EngineCoreOutputs[] = [];
  const ended = serveEngine({
    engine: new SimulatedEngine({ index: 200, kvBlocks: 10_000, cost: QUICK }),
    ready: READY,
    input: sockets.input,
    output: sockets.output,
    onMessage: (message) => sent.push(message),
    signal: stop.signal,
  });
  // Where it fails, the test says so.
  ended.catch(() => {});
  onTestFinished(async () => {
    stop.abort();
    await ended.catch(() => {});
    sockets.close();
  });
  expect(await sockets.ready(1)).toEqual(new Map([[200, READY]]));
  const frames = sockets.outputs[Symbol.asyncIterator]();
  const receive = async (): Promise<EngineCoreOutputs> =>
    decodeEngineCoreOutputs((await frames.next()).value as readonly Uint8Array[]);
  return { sockets, stop, ended, sent, receive };
};

describe('serveEngine', () => {
  it('is ready, answers a request step by step, and tells of each message that it sends', async () => {
    const { sockets, receive, sent } = await start();
    await sockets.send(200, add('a', [1, 2, 3], 3));
    const messages = [await receive(), await receive(), await receive()];
    expect(messages.map((message) => message.engine_index)).toEqual([200, 200, 200]);
    expect(messages.map(({ outputs }) => outputs!.map((output) => output.finish_reason))).toEqual([
      [undefined],
      [undefined],
      [0],
    ]);
    expect(messages[0]!.outputs![0]!.prefill_stats).toMatchObject({ num_prompt_tokens: 3 });
    expect(messages[2]!.finished_requests).toEqual(['a']);
    expect(sent.map(({ timestamp }) => timestamp)).toEqual(messages.map(({ timestamp }) => timestamp));
  });

  it('lets an aborted request go', async () => {
    const { sockets, receive } = await start();
    await sockets.send(200, add('a', [1], Infinity));
    expect((await receive()).outputs).toMatchObject([{ request_id: 'a' }]);
    await sockets.send(200, { kind: 'abort', ids: ['a', 'unknown'] });
    let last = await receive();
    while (last.finished_requests === undefined) last = await receive();
    expect(last).toMatchObject({ outputs: [], finished_requests: ['a'] });
    expect(last.scheduler_stats).toMatchObject({ num_running_reqs: 0, num_waiting_reqs: 0 });
  });

  it.each([
    ['a prompt that is too long', add('a', Array<number>(160_000).fill(1), 1), 'a prompt of 160000 tokens'],
    [
      'a request that is none',
      { ...add('a', [], 1), promptTokenIds: 7 as unknown as readonly number[] },
      'prompt_token_ids must be an array',
    ],
  ])('dies of %s, and says so with its last frame', async (_, request, reason) => {
    const { sockets, receive, ended } = await start();
    await sockets.send(200, request);
    expect(await receive()).toEqual({ engine_index: undefined, engine_dead: true });
    await expect(ended).rejects.toThrow(reason);
  });

  it('ends when it is told to, at work', async () => {
    const { sockets, stop, ended, receive } = await start();
    await sockets.send(200, add('a', [1], Infinity));
    await receive();
    stop.abort();
    expect(await ended).toBeUndefined();
  });

  it('ends when it is told to, idle', async () => {
    const { stop, ended } = await start();
    stop.abort();
    expect(await ended).toBeUndefined();
  });
});
