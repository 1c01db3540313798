import assert from 'node:assert/strict';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { decodeEngineCoreOutputs } from '../../src/engine-core/decode-engine-core-outputs.ts';
import { EngineCoreDecodeError } from '../../src/engine-core/engine-core-decode-error.ts';
import type { EngineCoreOutputs } from '../../src/engine/messages.ts';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import type { VllmRequest } from '../../src/request/vllm-request.ts';
import { Draw } from '../reference/draw.ts';
import { TestReader } from '../support/test-reader.ts';
import { realFrames, type RealFrame } from './corpus.ts';
import { Growth } from './growth.ts';
import { mutate } from './mutate.ts';
import { Sentinel } from './sentinel.ts';

/** What became of the frames of a round. */
export interface Outcomes {
  /** Refused by the decoder, with the one error that it has. */
  refused: number;
  /** Observed, and nothing of it dropped. */
  observed: number;
  /** Observed, and some of it dropped and counted. */
  dropped: number;
  /** Read as the last of an engine. */
  dead: number;
  /** Collections that were checked. */
  collections: number;
}

/** How a round is run. */
export interface RoundOptions {
  /** The same seed gives the same frames. */
  readonly seed: number;
  /** Frames between two collections. */
  readonly collectEvery: number;
  /** Default: the decoder of this package. */
  readonly decode?: typeof decodeEngineCoreOutputs;
}

/** An invariant that did not hold. */
export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';
  /** The last frame before it was noticed. */
  readonly frame: Buffer;

  constructor(frame: Buffer, cause: unknown) {
    super(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause), { cause });
    this.frame = frame;
  }
}

const FRAMES_PER_ROUND = 600;
const MAX_MILLIS_PER_FRAME = 2000;

/**
 * Decodes and observes mutated frames with a new instrumentation, among messages of requests that must not notice.
 *
 * @throws FuzzFailure where something is thrown, takes too long, or shrinks; or a request lost a sample.
 */
export async function fuzzRound(options: RoundOptions): Promise<Outcomes> {
  const { seed, collectEvery, decode = decodeEngineCoreOutputs } = options;
  const draw = new Draw(seed);
  const frames = realFrames(draw);
  const outcomes: Outcomes = { refused: 0, observed: 0, dropped: 0, dead: 0, collections: 0 };
  const service = new Service(draw.chance(0.5));
  for (let count = 1; count <= FRAMES_PER_ROUND; count += 1) {
    const real = draw.pick(frames);
    const frame = draw.chance(0.05) ? real.bytes : mutate(real.bytes, draw.pick(frames).bytes, draw);
    try {
      const begin = performance.now();
      service.startRequests(real);
      outcomes[service.take(frame, decode)] += 1;
      const took = performance.now() - begin;
      assert(took < MAX_MILLIS_PER_FRAME, `took ${took} ms`);
      if (count % collectEvery === 0 || count === FRAMES_PER_ROUND) {
        await service.collect();
        outcomes.collections += 1;
      }
    } catch (error) {
      throw new FuzzFailure(frame, error);
    }
  }
  await service.shutdown();
  return outcomes;
}

class Service {
  readonly #vllm: VllmInstrumentation;
  readonly #reader = new TestReader();
  readonly #provider = new MeterProvider({ readers: [this.#reader], views: vllmViews() });
  readonly #spans = new InMemorySpanExporter();
  readonly #growth = new Growth();
  readonly #requests = new Map<string, VllmRequest>();
  #sentinels = 0;
  #drops = 0;

  constructor(trackUnknownRequests: boolean) {
    this.#vllm = new VllmInstrumentation({ modelName: 'test-model', trackUnknownRequests, maxLoras: 2 });
    this.#vllm.setMeterProvider(this.#provider);
    this.#vllm.setTracerProvider(
      new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: this.#spans })] }),
    );
  }

  /** So that a frame has something to spoil, the requests that it named before it was mutated are live. */
  startRequests({ engine, requestIds }: RealFrame): void {
    for (const requestId of requestIds) {
      const known = this.#requests.get(requestId);
      if (known?.ended === false) continue;
      const loraName = requestId.endsWith('7') ? 'adapter' : undefined;
      this.#requests.set(requestId, this.#vllm.engine(engine).startRequest({ requestId, loraName }));
    }
  }

  take(frame: Buffer, decode: typeof decodeEngineCoreOutputs): Exclude<keyof Outcomes, 'collections'> {
    let message: EngineCoreOutputs;
    try {
      message = decode(frame);
    } catch (error) {
      if (!(error instanceof EngineCoreDecodeError)) throw error;
      assert.notEqual(error.position, '');
      return 'refused';
    }
    if (message.engine_dead === true) {
      this.#vllm.observe(message);
      return 'dead';
    }
    this.#observe(message);
    return this.#hasDropped() ? 'dropped' : 'observed';
  }

  async collect(): Promise<void> {
    this.#growth.check(await this.#reader.read());
  }

  async shutdown(): Promise<void> {
    this.#vllm.disable();
    await this.#provider.shutdown();
  }

  #observe(message: EngineCoreOutputs): void {
    const { engine_index: index = 0, outputs = [] } = message;
    if (!Number.isInteger(index) || index < 0 || index > 65_535) {
      this.#vllm.observe(message);
      return;
    }
    this.#sentinels += 1;
    const sentinel = new Sentinel(this.#vllm, index, `sentinel-${this.#sentinels}`);
    this.#vllm.observe({ ...message, outputs: sentinel.around(outputs) });
    sentinel.check(this.#spans.getFinishedSpans());
    this.#spans.reset();
  }

  #hasDropped(): boolean {
    const before = this.#drops;
    this.#drops = Object.values(this.#vllm.status().dropped).reduce((sum, count) => sum + count, 0);
    assert(this.#drops >= before, 'fewer drops than before');
    return this.#drops > before;
  }
}
