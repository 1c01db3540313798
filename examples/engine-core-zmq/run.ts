import { setTimeout as sleep } from 'node:timers/promises';
import { crossCheck } from '../demo/cross-check.ts';
import { parseExposition } from '../demo/exposition.ts';
import { formatVerdict } from '../demo/report.ts';
import { startTelemetry, type Telemetry } from '../demo/telemetry.ts';
import { UsageError } from '../demo/usage-error.ts';
import { pace } from '../simulated-engine/pace.ts';
import { Random } from '../simulated-engine/random.ts';
import { generateWorkload, withHangUps, type WorkloadRequest } from '../simulated-engine/workload.ts';
import { EngineCoreSockets } from './engine-core-sockets.ts';
import { EngineProcess } from './engine-process.ts';
import { Frontend } from './frontend.ts';
import { type ExampleOptions, HELP, parseOptions } from './options.ts';
import { formatOpening, formatSummary } from './summary.ts';

/** The example's surroundings. */
export interface Surroundings {
  /** Takes a line, or several, of the result. */
  print(text: string): void;
  /** Takes the line that says what went wrong. */
  complain(text: string): void;
  /** Lets all clients go, which ends the run early. */
  readonly interrupted: AbortSignal;
  /** Told of the engines, and of the address that they send to, when the first requests are about to come. */
  readonly started?: (engines: readonly EngineProcess[], output: string) => void;
}

/**
 * Runs the example.
 *
 * @param args The command line, without the program's name.
 * @returns The exit code: 0 where all is well, 1 where an engine died or the metrics are not what the engines sent, 2
 *   where the command line asks for something impossible.
 */
export async function runExample(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    const options = parseOptions(args);
    if (options !== 'help') return await runProcesses(options, surroundings);
    surroundings.print(HELP);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    surroundings.complain(error.message);
    return 2;
  }
}

async function runProcesses(options: ExampleOptions, surroundings: Surroundings): Promise<number> {
  const { print, complain, interrupted } = surroundings;
  const sockets = await EngineCoreSockets.bind();
  const { input, output } = sockets;
  const engines = Array.from(
    { length: options.engines },
    (_, index) => new EngineProcess({ index, kvBlocks: options.kvBlocks, input, output }),
  );
  const stopEngines = () => Promise.all(engines.map((engine) => engine.stop()));
  let telemetry: Telemetry | undefined;
  try {
    const died = Promise.race(engines.map((engine) => engine.died));
    const ready = await Promise.race([sockets.ready(engines.length), died, whenAborted(interrupted)]);
    if (ready === undefined) {
      if (!interrupted.aborted) complain('An engine died before it was ready');
      return 1;
    }
    const maxModelLen = Math.min(...[...ready.values()].map(({ max_model_len: length }) => length));
    telemetry = await startTelemetry({ port: options.port, otlp: undefined }, maxModelLen);
    for (const [index, { block_size, num_gpu_blocks }] of ready) {
      telemetry.vllm.engine(index).recordCacheConfig({ block_size, num_gpu_blocks });
    }
    const frontend = new Frontend(telemetry.vllm, sockets, [...ready.keys()], maxModelLen);
    void died.then(() => frontend.engineDied());
    interrupted.addEventListener('abort', () => frontend.hangUp());
    print(formatOpening([...ready.values()], telemetry.url));

    surroundings.started?.(engines, output);
    await Promise.race([serveAll(options, frontend, interrupted), frontend.receive()]);

    const samples = parseExposition(await (await fetch(telemetry.url)).text());
    await stopEngines();
    print(`\n${formatSummary(samples, frontend)}`);
    if (frontend.dead.aborted) {
      complain('An engine died, which ended the requests in flight');
      return 1;
    }
    const sent = new Map(engines.map((engine) => [engine.index, engine.sent()]));
    const differences = crossCheck(samples, frontend.log.replay(sent));
    print(`\n${formatVerdict(differences, samples)}`);
    return differences.length === 0 ? 0 : 1;
  } finally {
    await stopEngines();
    sockets.close();
    await telemetry?.shutdown();
  }
}

async function serveAll(
  options: ExampleOptions,
  frontend: Frontend,
  interrupted: AbortSignal,
): Promise<void> {
  const stop = AbortSignal.any([interrupted, frontend.dead]);
  const clock = {
    now: () => performance.now() / 1000,
    sleep: (seconds: number) => sleep(seconds * 1000, undefined, { signal: stop }),
  };
  const arrivals = createWorkload(options).map((request) => ({ at: request.arrival, request }));
  const served: Promise<void>[] = [];
  try {
    for await (const { request } of pace(arrivals, 1, clock)) served.push(frontend.serve(request));
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  await Promise.all(served);
}

function createWorkload({ seed, rate, duration, abortShare }: ExampleOptions): readonly WorkloadRequest[] {
  const random = new Random(seed);
  const requests = generateWorkload({
    rate,
    duration,
    random: random.fork(),
    prompt: { median: 60, sigma: 0.8, max: 800 },
    output: { median: 100, sigma: 0.8, max: 300 },
  });
  return [...withHangUps(requests, abortShare, random.fork())];
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined));
  });
}
