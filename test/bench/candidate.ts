import type { Counts } from './counts.ts';

/** One way of doing some work. */
export interface Candidate {
  readonly name: string;
  /** Makes what so many units of work need, outside of what is measured. */
  prepare?(units: number): void;
  /** Does one unit of the work. */
  run(): void;
  /** What was counted since the candidate was made, read back through its own collection. */
  counts(): Promise<Counts>;
}

/** The same work done in several ways. */
export interface Work {
  readonly title: string;
  /** What times are given for: an output, a request. */
  readonly item: string;
  /** Items in a unit of work. */
  readonly itemsPerUnit: number;
  /** Units in a round of one candidate, where a run is not a quick one. */
  readonly unitsPerRound: number;
  /** The one that all are compared with. */
  readonly reference: 'first' | 'last';
  /** What makes each candidate. */
  readonly candidates: readonly (() => Candidate)[];
  /** True where all candidates are the same code, so that one isolate does for them. */
  readonly together?: true;
}

/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  /** The share of the full size that everything is done in. */
  readonly scale: number;
  /** Whether each candidate gets an isolate of its own, which takes its time to start. */
  readonly apart: boolean;
}
