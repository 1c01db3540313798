import type { Work } from './candidate.ts';

/** The name of a work. */
export type WorkName =
  | 'record'
  | 'step'
  | 'observe'
  | 'frames'
  | 'request'
  | 'decode'
  | 'decodeLogprobs'
  | 'requestsInFlight'
  | 'requestsLookedUp'
  | 'engines';

/** What makes each work. It is loaded where it is run: the modules of the others are not in its way. */
export const works: Readonly<Record<WorkName, () => Promise<Work>>> = {
  record: async () => (await import('./histogram-record.ts')).histogramRecord(),
  step: async () => (await import('./engine-step.ts')).engineStep(),
  observe: async () => (await import('./engine-step.ts')).observe(),
  frames: async () => (await import('./engine-step.ts')).engineStepFromFrames(),
  request: async () => (await import('./whole-request.ts')).wholeRequest(),
  decode: async () => (await import('./decode.ts')).decode(0),
  decodeLogprobs: async () => (await import('./decode.ts')).decode(20),
  requestsInFlight: async () => (await import('./growth.ts')).growthOfRequests(),
  requestsLookedUp: async () => (await import('./growth.ts')).growthOfLookUps(),
  engines: async () => (await import('./growth.ts')).growthOfEngines(),
};
