import { SimulatedEngine } from '../../examples/simulated-engine/engine.ts';
import { Random } from '../../examples/simulated-engine/random.ts';
import { Simulation } from '../../examples/simulated-engine/simulation.ts';
import { countTokens } from '../../examples/simulated-engine/token-sequence.ts';
import { generateWorkload, withHangUps } from '../../examples/simulated-engine/workload.ts';
import { EPOCH, type Action } from './action.ts';

/** What a frontend gets to see of three simulated engines that are short of cache, under sparse indices. */
export function simulatedStream(seed: number): readonly Action[] {
  const random = new Random(seed);
  const workload = withHangUps(
    generateWorkload({ rate: 12, duration: 12, random: random.fork() }),
    0.2,
    random.fork(),
  );
  const engines = [2, 5, 300].map(
    (index) =>
      new SimulatedEngine({
        index,
        kvBlocks: 500,
        reserveFullPrompt: false,
        clockOffset: random.integer(100_000),
      }),
  );
  const requests = new Map<string, number>();
  const actions: Action[] = [];
  for (const event of new Simulation({ engines, workload })) {
    const { at } = event;
    if (event.kind === 'arrival') {
      const { id: requestId, prompt, maxTokens } = event.request;
      const options = { requestId, promptTokens: countTokens(prompt), maxTokens, arrivalTime: EPOCH + at };
      const request = requests.size;
      requests.set(requestId, request);
      actions.push({ at, kind: 'start', engine: event.engine, request, options });
    } else if (event.kind === 'message') {
      actions.push({ at, kind: 'message', message: event.message, receivedAt: EPOCH + at });
    } else if (event.kind === 'abort') {
      const request = requests.get(event.id)!;
      actions.push({ at, kind: 'end', request, choice: undefined, reason: 'abort', receivedAt: EPOCH + at });
    }
  }
  return actions;
}
