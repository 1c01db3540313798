import { describe, expect, it, onTestFinished } from 'vitest';
import { Dealer, Push } from 'zeromq';
import { crossCheck } from '../../../examples/demo/cross-check.ts';
import { parseExposition, type Sample, sumOf } from '../../../examples/demo/exposition.ts';
import { startTelemetry } from '../../../examples/demo/telemetry.ts';
import { encodeEngineCoreOutputs } from '../../../examples/engine-core-zmq/encode-engine-core-outputs.ts';
import {
  decodeRequest,
  type EngineCoreRequest,
} from '../../../examples/engine-core-zmq/engine-core-request.ts';
import { EngineCoreSockets } from '../../../examples/engine-core-zmq/engine-core-sockets.ts';
import { Frontend } from '../../../examples/engine-core-zmq/frontend.ts';
import { identityOf } from '../../../examples/engine-core-zmq/identity.ts';
import { encodeReadyResponse } from '../../../examples/engine-core-zmq/ready-response.ts';
import { serveEngine } from '../../../examples/engine-core-zmq/serve-engine.ts';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import { Random } from '../../../examples/simulated-engine/random.ts';
import {
  generateWorkload,
  withHangUps,
  type WorkloadRequest,
} from '../../../examples/simulated-engine/workload.ts';
import type { EngineCoreOutputs } from '../../../src/engine/messages.ts';
import { collectThoroughly } from '../../support/garbage.ts';
import { message, output } from '../../support/messages.ts';

const READY = {
  max_model_len: 100,
  num_gpu_blocks: 64,
  block_size: 16,
  vllm_version: 'simulated',
  data_parallel_rank: 0,
};

const request = (id: string, more: Partial<WorkloadRequest> = {}): WorkloadRequest => ({
  id,
  arrival: 0,
  prompt: [{ content: 0n, tokens: 3 }],
  outputTokens: 9,
  ...more,
});

/** Sockets and instrumentation, and a frontend once there are engines, until the test ends. */
const start = async () => {
  const sockets = await EngineCoreSockets.bind();
  const telemetry = await startTelemetry({ port: 0, otlp: undefined }, 100);
  onTestFinished(async () => {
    sockets.close();
    await telemetry.shutdown();
  });
  return {
    sockets,
    frontend: (engines: readonly number[], maxModelLen = 100) => {
      const frontend = new Frontend(telemetry.vllm, sockets, engines, maxModelLen);
      void frontend.receive();
      return frontend;
    },
    scrape: async () => parseExposition(await (await fetch(telemetry.url)).text()),
  };
};

/** The sockets of an engine of which the test is the rest. */
const connectEngine = async (sockets: EngineCoreSockets, index: number) => {
  const dealer = new Dealer({ routingId: identityOf(index), linger: 0 });
  const push = new Push({ linger: 0 });
  onTestFinished(() => {
    dealer.close();
    push.close();
  });
  dealer.connect(sockets.input);
  push.connect(sockets.output);
  await dealer.send(encodeReadyResponse(READY));
  return {
    receive: async (): Promise<EngineCoreRequest | undefined> => decodeRequest(await dealer.receive()),
    send: (...outputs: Parameters<typeof message>) => push.send(encodeEngineCoreOutputs(message(...outputs))),
    sendBytes: (bytes: string, encoding: BufferEncoding) => push.send(Buffer.from(bytes, encoding)),
  };
};

/** One of the counters that say how requests ended. */
const endedBy = (samples: readonly Sample[], reason: string): number =>
  sumOf(samples, 'vllm:request_success_total', { finished_reason: reason });

describe('the frontend', () => {
  it('records exactly what simulated engines sent it over ZeroMQ', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const stop = new AbortController();
    const sent = new Map<number, EngineCoreOutputs[]>([
      [2, []],
      [300, []],
    ]);
    const engines = [...sent].map(([index, messages]) =>
      serveEngine({
        engine: new SimulatedEngine({
          index,
          kvBlocks: 64,
          reserveFullPrompt: false,
          cost: { perStep: 0.0005, perPrefillToken: 0, perDecode: 0, perContextToken: 0 },
        }),
        ready: READY,
        input: sockets.input,
        output: sockets.output,
        onMessage: (sentMessage) => messages.push(sentMessage),
        signal: stop.signal,
      }),
    );
    const ready = await sockets.ready(2);
    expect([...ready.keys()]).toEqual([2, 300]);
    const frontend = startFrontend([2, 300], 1024);

    const random = new Random(1);
    const requests = generateWorkload({
      rate: 60,
      duration: 1,
      random: random.fork(),
      prompt: { median: 60, sigma: 0.8, max: 300 },
      output: { median: 60, sigma: 0.8, max: 100 },
    });
    const workload = [...withHangUps(requests, 0.3, random.fork())].map(({ hangUp, ...rest }) =>
      hangUp === undefined ? rest : { ...rest, hangUp: { ...hangUp, afterSeconds: 0.001 } },
    );
    await Promise.all(workload.map((one) => frontend.serve(one)));
    const samples = await scrape();
    stop.abort();
    await Promise.all(engines);

    const records = frontend.log.replay(sent);
    expect(crossCheck(samples, records)).toEqual([]);
    expect(records).toHaveLength(workload.length);
    expect(new Set(records.map(({ engine }) => engine))).toEqual(new Set([2, 300]));
    // So that nothing was equal for want of anything to compare.
    expect(endedBy(samples, 'abort')).toBeGreaterThan(0);
    expect(sumOf(samples, 'vllm:num_preemptions_total')).toBeGreaterThan(0);
    expect(frontend.malformed).toBe(0);
  });

  it('sends a request to the engine with the fewest, as its prompt and its limits', async () => {
    const { sockets, frontend: startFrontend } = await start();
    const engines = [await connectEngine(sockets, 0), await connectEngine(sockets, 1)];
    await sockets.ready(2);
    const frontend = startFrontend([0, 1]);
    for (const id of ['a', 'b', 'c']) void frontend.serve(request(id, { maxTokens: 5 }));
    expect(await engines[0]!.receive()).toMatchObject({
      kind: 'add',
      id: 'a',
      promptTokenIds: { length: 3 },
      maxTokens: 5,
      outputTokens: 9,
    });
    expect(await engines[1]!.receive()).toMatchObject({ id: 'b' });
    expect(await engines[0]!.receive()).toMatchObject({ id: 'c' });
  });

  it('holds on to its requests, of which no message has come yet', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const engine = await connectEngine(sockets, 0);
    await sockets.ready(1);
    const served = startFrontend([0]).serve(request('a'));
    await collectThoroughly();
    await engine.send(1, output('a', 1, { finish_reason: 0 }));
    await served;
    expect(endedBy(await scrape(), 'stop')).toBe(1);
  });

  it('goes on after messages that it cannot read, and counts them', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const engine = await connectEngine(sockets, 0);
    await sockets.ready(1);
    const frontend = startFrontend([0]);
    const served = frontend.serve(request('a'));
    await engine.sendBytes('c1', 'hex'); // no MessagePack
    await engine.sendBytes('', 'hex');
    await engine.sendBytes('9200', 'hex'); // an array that ends within
    await engine.sendBytes('ENGINE_CORE_DEA', 'latin1');
    await engine.send(1, output('a', 4, { finish_reason: 1 }));
    await served;
    const samples = await scrape();
    expect([frontend.malformed, endedBy(samples, 'length')]).toEqual([4, 1]);
    expect(sumOf(samples, 'vllm:generation_tokens_total')).toBe(4);
  });

  it('ends every request with error when an engine says that it is dead', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const engine = await connectEngine(sockets, 0);
    await connectEngine(sockets, 1);
    await sockets.ready(2);
    const frontend = startFrontend([0, 1]);
    const served = ['a', 'b', 'c'].map((id) => frontend.serve(request(id)));
    await engine.sendBytes('ENGINE_CORE_DEAD', 'latin1');
    await Promise.all(served);
    const samples = await scrape();
    expect([frontend.dead.aborted, endedBy(samples, 'error')]).toEqual([true, 3]);
    expect(sumOf(samples, 'vllm:request_num_preemptions_count')).toBe(3);
  });

  it('aborts the request of a client that has gone, and counts nothing that comes for it later', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const engine = await connectEngine(sockets, 0);
    await sockets.ready(1);
    const frontend = startFrontend([0]);
    const served = frontend.serve(request('a', { hangUp: { afterTokens: 2, afterSeconds: 0 } }));
    const other = frontend.serve(request('b'));
    await engine.receive();
    await engine.receive();
    await engine.send(1, output('a', 1));
    await engine.send(2, output('a', 1));
    expect(await engine.receive()).toEqual({ kind: 'abort', ids: ['a'] });
    await served;
    await engine.send(3, output('a', 7), output('b', 1, { finish_reason: 0 }));
    await other;
    const samples = await scrape();
    expect([endedBy(samples, 'abort'), endedBy(samples, 'stop')]).toEqual([1, 1]);
    expect(sumOf(samples, 'vllm:generation_tokens_total')).toBe(3);
  });

  it('lets every client go when it is told to', async () => {
    const { sockets, frontend: startFrontend, scrape } = await start();
    const engine = await connectEngine(sockets, 0);
    await sockets.ready(1);
    const frontend = startFrontend([0]);
    const served = ['a', 'b'].map((id) => frontend.serve(request(id)));
    frontend.hangUp();
    await Promise.all(served);
    expect(endedBy(await scrape(), 'abort')).toBe(2);
    const asked = [
      await engine.receive(),
      await engine.receive(),
      await engine.receive(),
      await engine.receive(),
    ];
    expect(asked.map((one) => one?.kind)).toEqual(['add', 'add', 'abort', 'abort']);
  });

  it('turns away a prompt that leaves no room for an answer', async () => {
    const { frontend: startFrontend, scrape } = await start();
    const frontend = startFrontend([0]);
    await frontend.serve(request('a', { prompt: [{ content: 0n, tokens: 100 }] }));
    expect(frontend.rejected).toBe(1);
    expect(sumOf(await scrape(), 'vllm:request_num_preemptions_count')).toBe(0);
  });

  it('waits for an engine that is gone to be known as dead', async () => {
    const { frontend: startFrontend, scrape } = await start();
    const frontend = startFrontend([5]);
    const served = frontend.serve(request('a'));
    frontend.engineDied();
    await served;
    expect(endedBy(await scrape(), 'error')).toBe(1);
  });
});
