import { encodeEngineCoreOutputs } from '../../examples/engine-core-zmq/encode-engine-core-outputs.ts';
import { SimulatedEngine } from '../../examples/simulated-engine/engine.ts';
import { Random } from '../../examples/simulated-engine/random.ts';
import { Simulation } from '../../examples/simulated-engine/simulation.ts';
import { generateWorkload, withHangUps } from '../../examples/simulated-engine/workload.ts';
import type { EngineCoreOutputs } from '../../src/engine/messages.ts';
import { FRAMES } from '../engine-core/frames.ts';
import type { Draw } from '../reference/draw.ts';
import { generateStatistics } from '../reference/generate-statistics.ts';

/** A frame as engines send it, and what it holds. */
export interface RealFrame {
  readonly bytes: Buffer;
  readonly engine: number;
  readonly requestIds: readonly string[];
}

const MESSAGES = 200;

/**
 * What simulated engines send that have too little cache, with all that statistics may hold, and the frames of the
 * independent encoder.
 */
export function realFrames(draw: Draw): readonly RealFrame[] {
  const frames: RealFrame[] = [...FRAMES.values()].map((bytes) => ({ bytes, engine: 0, requestIds: [] }));
  for (const event of simulate(draw.whole(0, 2 ** 31))) {
    if (event.kind !== 'message') continue;
    frames.push(encode(event.message, draw));
    if (frames.length >= MESSAGES) break;
  }
  return frames;
}

function encode(message: EngineCoreOutputs, draw: Draw): RealFrame {
  const outputs = (message.outputs ?? []).map((output) =>
    draw.chance(0.9) ? output : { ...output, trace_headers: TRACE_HEADERS, num_nans_in_logits: 1 },
  );
  const statistics = draw.maybe(0.5, () => generateStatistics(draw));
  const scheduler_stats = { ...message.scheduler_stats, ...statistics };
  return {
    bytes: Buffer.from(encodeEngineCoreOutputs({ ...message, outputs, scheduler_stats })),
    engine: message.engine_index ?? 0,
    requestIds: outputs.map(({ request_id: id }) => id),
  };
}

const TRACE_HEADERS = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

function simulate(seed: number): Simulation {
  const random = new Random(seed);
  const requests = generateWorkload({
    rate: 40,
    duration: 4,
    random: random.fork(),
    prompt: { median: 60, sigma: 1, max: 400 },
    sharedPrefixShare: 0,
    output: { median: 20, sigma: 1, max: 100 },
  });
  const engines = [0, 1, 300].map(
    (index) => new SimulatedEngine({ index, kvBlocks: 32, maxNumSeqs: 8, reserveFullPrompt: false }),
  );
  return new Simulation({ engines, workload: withHangUps(requests, 0.2, random) });
}
