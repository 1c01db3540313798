// A service before two simulated engines whose KV cache is too small: it records requests, in real time and without an end,
// and where that goes is said by the environment that it is started with, in compose.yaml.
import { VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';
import { Frontend } from '../demo/frontend.ts';
import { SimulatedEngine } from '../simulated-engine/engine.ts';
import { pace } from '../simulated-engine/pace.ts';
import { Random } from '../simulated-engine/random.ts';
import { Simulation } from '../simulated-engine/simulation.ts';
import { generateWorkload, withHangUps } from '../simulated-engine/workload.ts';

const vllm = new VllmInstrumentation({ modelName: 'simulated-8b' });

// An hour at a time: a simulation remembers every request it has had.
for (let hour = 0; ; hour += 1) {
  const random = new Random(hour);
  const requests = generateWorkload({ rate: 10, duration: 3600, random: random.fork() });
  const workload = withHangUps(requests, 0.05, random.fork());
  const engines = [0, 1].map((index) => {
    const settings = { kvBlocks: 1024, blockSize: 16, maxModelLen: 16_384, reserveFullPrompt: false };
    return new SimulatedEngine({ ...settings, index, clockOffset: random.integer(1_000_000) });
  });
  const frontend = new Frontend(vllm, Date.now() / 1000);
  for await (const event of pace(new Simulation({ engines, workload }), 1)) frontend.handle(event);
}
