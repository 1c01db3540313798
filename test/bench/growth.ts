import { VllmInstrumentation, type VllmRequest } from 'opentelemetry-instrumentation-vllm';
import type { Candidate, Work } from './candidate.ts';
import { EngineSteps, requestIds, type StepRequests } from './engine-steps.ts';
import { onBoundMeter } from './metering.ts';
import { collectTotals, type Totals } from './totals.ts';

/** So many requests on so many engines. */
interface Size {
  readonly name: string;
  readonly engines: number;
  readonly requestsPerEngine: number;
  /** How many requests of each engine get outputs; the others wait. */
  readonly running: number;
  readonly outputsPerStep: number;
}

/**
 * What an output takes with more requests in flight on an engine: where 250 are running and the others wait, as in an
 * engine with a limit on its batch, and where all get an output in turn, so that no processor's cache holds them.
 */
export function growthOfRequests(): Work {
  return growth(
    'Growth with requests in flight, this package on BoundMeterProvider',
    requestSizes(),
    observing,
  );
}

/**
 * What of that is the look-up by id alone, in a Map that holds next to nothing: a larger one lies further from the
 * processor, whatever is done with what it finds.
 */
export function growthOfLookUps(): Work {
  return growth('Growth with requests in flight, look-up by id alone', requestSizes(), lookingUp);
}

/** What an output takes with more engines, of 16384 requests in flight in all. */
export function growthOfEngines(): Work {
  const sizes = [1, 16, 256].map((engines) => ({
    name: `${engines} engine${engines > 1 ? 's' : ''}`,
    engines,
    requestsPerEngine: 16_384 / engines,
    running: 16_384 / engines,
    outputsPerStep: 64,
  }));
  return growth(
    'Growth with engines of 16384 requests in all, this package on BoundMeterProvider',
    sizes,
    observing,
  );
}

function requestSizes(): readonly Size[] {
  const sizes = (running: number, what: string): Size[] =>
    [1000, 10_000, 100_000].map((requests) => ({
      name: `${requests} requests in flight, ${what}`,
      engines: 1,
      requestsPerEngine: requests,
      running: Math.min(running, requests),
      outputsPerStep: 250,
    }));
  return [...sizes(250, '250 running'), ...sizes(Infinity, 'all in turn')];
}

function growth(title: string, sizes: readonly Size[], candidateOf: (size: Size) => Candidate): Work {
  return {
    title,
    item: 'output',
    itemsPerUnit: sizes[0]!.outputsPerStep,
    unitsPerRound: 1000,
    reference: 'first',
    candidates: sizes.map((size) => () => candidateOf(size)),
    together: true,
  };
}

function observing(size: Size): Candidate {
  const { provider, reader } = onBoundMeter();
  const vllm = new VllmInstrumentation({ modelName: 'bench' });
  vllm.setMeterProvider(provider);
  const requests: VllmRequest[] = [];
  for (let index = 0; index < size.engines; index += 1) {
    const engine = vllm.engine(index);
    for (const requestId of requestIds(size.requestsPerEngine))
      requests.push(engine.startRequest({ requestId }));
  }
  const turns = turnsOf(size);
  const steps = new EngineSteps(turns);
  // The first token of each, which has no latency.
  steps.prepare(turns.length);
  for (const _turn of turns) vllm.observe(steps.next());
  return {
    name: size.name,
    prepare: (units) => steps.prepare(units),
    run: () => vllm.observe(steps.next()),
    counts: async () => {
      if (requests.some(({ ended }) => ended)) throw new Error('a request ended under way');
      const totals = await collectTotals(reader);
      const of = (name: string): Totals => totals.get(name)!;
      return {
        generationTokens: of('vllm:generation_tokens').count - size.running * size.engines,
        latencies: of('vllm:inter_token_latency_seconds').count,
      };
    },
  };
}

function lookingUp(size: Size): Candidate {
  const states = Array.from(
    { length: size.engines },
    () => new Map(requestIds(size.requestsPerEngine).map((id) => [id, { tokens: 0 }])),
  );
  const steps = new EngineSteps(turnsOf(size));
  return {
    name: size.name,
    prepare: (units) => steps.prepare(units),
    run: () => {
      const { engine_index: engine, outputs } = steps.next();
      const byId = states[engine!]!;
      for (let position = 0; position < outputs.length; position += 1) {
        const state = byId.get(outputs[position]!.request_id);
        if (state !== undefined) state.tokens += 1;
      }
    },
    counts: async () => {
      const all = states.flatMap((byId) => [...byId.values()]);
      return { generationTokens: all.reduce((sum, { tokens }) => sum + tokens, 0) };
    },
  };
}

/** As many as it takes for a token of every running request, those of all engines in turn. */
function turnsOf({ engines, running, outputsPerStep }: Size): readonly StepRequests[] {
  const ids = Array.from({ length: engines }, () => requestIds(running));
  const turns: StepRequests[] = [];
  for (let start = 0; start < running; start += outputsPerStep) {
    for (let engine = 0; engine < engines; engine += 1) {
      turns.push({ engine, ids: ids[engine]!.slice(start, start + outputsPerStep) });
    }
  }
  return turns;
}
