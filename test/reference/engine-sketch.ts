import type { Draw } from './draw.ts';

/** An engine request as the generator thinks of it; the instrumentation may know better. */
export interface RequestSketch {
  readonly id: string;
  readonly request: number;
  readonly choice: number | undefined;
  queued: boolean;
  begun: boolean;
  ended: boolean;
}

/** An engine as the generator thinks of it. */
export interface EngineSketch {
  readonly index: number;
  /** What its monotonic clock shows at the beginning. */
  readonly clockOffset: number;
  readonly requests: RequestSketch[];
  /** Ids that the engine let go: it has no more outputs of these. */
  readonly released: Set<string>;
  removed: boolean;
}

/** One of its requests that has not ended, where there is any. */
export function pickLive(draw: Draw, { requests }: EngineSketch): RequestSketch | undefined {
  const live = requests.filter(({ ended }) => !ended);
  return live.length === 0 ? undefined : draw.pick(live);
}

/** What its clock shows, a little before now, so that it sometimes goes backwards. */
export function engineTime(draw: Draw, { clockOffset }: EngineSketch, at: number): number {
  return clockOffset + at - draw.seconds(0.125);
}
