import { VllmInstrumentation, type VllmRequest } from 'opentelemetry-instrumentation-vllm';
import { decodeEngineCoreOutputs } from 'opentelemetry-instrumentation-vllm/engine-core';
import type { Candidate, Work } from './candidate.ts';
import { decodingRequests, EngineSteps, FrameSteps, OUTPUTS_PER_STEP, requestIds } from './engine-steps.ts';
import { onBoundMeter, onSdk, type Metering } from './metering.ts';
import { openTelemetryByHand, openTelemetryFromFrames, promClientByHand } from './step-by-hand.ts';
import { stepCounts } from './step-counts.ts';
import { idealLoop, idealLoopById } from './step-ideal.ts';
import { collectTotals } from './totals.ts';

/** A step of an engine, 256 requests in decode, a token each, from the message to the series. */
export function engineStep(): Work {
  return {
    ...observe(),
    title: `Engine step of ${OUTPUTS_PER_STEP} outputs, a token each, all requests in decode`,
    candidates: [
      () => openTelemetryByHand('per output'),
      () => openTelemetryByHand('per step'),
      () => promClientByHand('per output'),
      () => promClientByHand('per step'),
      idealLoop,
      idealLoopById,
      ...observe().candidates,
    ],
  };
}

/** What this package alone makes of the same step. */
export function observe(): Work {
  return {
    title: `Engine step of ${OUTPUTS_PER_STEP} outputs, this package alone`,
    item: 'output',
    itemsPerUnit: OUTPUTS_PER_STEP,
    unitsPerRound: 1000,
    reference: 'last',
    candidates: [() => typed(onSdk()), () => typed(onBoundMeter())],
  };
}

/** The same from the frame that an engine sent. */
export function engineStepFromFrames(): Work {
  return {
    title: `Engine step of ${OUTPUTS_PER_STEP} outputs from its frame`,
    item: 'output',
    itemsPerUnit: OUTPUTS_PER_STEP,
    unitsPerRound: 500,
    reference: 'last',
    candidates: [
      () => openTelemetryFromFrames('@msgpack/msgpack', 'per output'),
      () => openTelemetryFromFrames('msgpackr', 'per output'),
      () => openTelemetryFromFrames('msgpackr', 'per step'),
      () => fromFrames(onSdk()),
      () => fromFrames(onBoundMeter()),
    ],
  };
}

function typed(metering: Metering): Candidate {
  const { vllm, counts } = inDecode(metering);
  const steps = new EngineSteps([decodingRequests()]);
  return {
    name: metering.name,
    prepare: (units) => steps.prepare(units),
    run: () => vllm.observe(steps.next()),
    counts,
  };
}

function fromFrames(metering: Metering): Candidate {
  const { vllm, counts } = inDecode(metering);
  const steps = new FrameSteps(decodingRequests());
  return {
    name: `/engine-core, then ${metering.name}`,
    run: () => vllm.observe(decodeEngineCoreOutputs(steps.next())),
    counts,
  };
}

function inDecode({ provider, reader }: Metering): Pick<Candidate, 'counts'> & { vllm: VllmInstrumentation } {
  const vllm = new VllmInstrumentation({ modelName: 'bench' });
  vllm.setMeterProvider(provider);
  const engine = vllm.engine(0);
  // Kept, as an application keeps them: a request that was dropped counts as lost.
  const requests: readonly VllmRequest[] = requestIds(OUTPUTS_PER_STEP).map((requestId) =>
    engine.startRequest({ requestId }),
  );
  return {
    vllm,
    counts: async () => {
      if (requests.some(({ ended }) => ended)) throw new Error('a request ended under way');
      return stepCounts(await collectTotals(reader));
    },
  };
}
