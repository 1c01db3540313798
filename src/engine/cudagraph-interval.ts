import type { CudagraphStat } from './messages.ts';
import { isAmount } from './statistics.ts';

/** The kinds of CUDA-graph runs that are kept apart in one interval; runs of further kinds go to a rest. */
export const MAX_CUDAGRAPH_KINDS = 1024;

/** Runs of the model that were alike in an interval. */
export interface CudagraphRuns {
  readonly unpaddedTokens: number;
  readonly paddedTokens: number;
  readonly paddings: number;
  readonly runtimeMode: string;
  readonly count: number;
}

/** How the model ran in an interval. */
export interface CudagraphInterval {
  /** By a key made of the four parts, in the order first seen. */
  readonly runs: ReadonlyMap<string, CudagraphRuns>;
  /** Runs of the kinds beyond {@link MAX_CUDAGRAPH_KINDS}. */
  readonly others: number;
}

/** {@link CudagraphInterval} while it is gathered. */
export interface CudagraphTotal extends CudagraphInterval {
  readonly runs: Map<string, RunsTotal>;
  others: number;
}

interface RunsTotal extends CudagraphRuns {
  count: number;
}

export function newCudagraph(): CudagraphTotal {
  return { runs: new Map(), others: 0 };
}

/** Names like `FULL` or `CUDAGraphMode.PIECEWISE`. They end up in a table of a log: nothing else may. */
const RUNTIME_MODE = /^[\w.]{1,64}$/;

/** The first part of a run that can't be right, or is missing; undefined where all are right. */
export function invalidRunPart(stat: CudagraphStat): keyof CudagraphStat | undefined {
  if (!isAmount(stat.num_unpadded_tokens)) return 'num_unpadded_tokens';
  if (!isAmount(stat.num_padded_tokens)) return 'num_padded_tokens';
  if (!isAmount(stat.num_paddings)) return 'num_paddings';
  const mode = stat.runtime_mode;
  return typeof mode === 'string' && RUNTIME_MODE.test(mode) ? undefined : 'runtime_mode';
}

/** Adds one run off the wire. The caller has checked that it has no {@link invalidRunPart}. */
export function addRun(total: CudagraphTotal, stat: CudagraphStat): void {
  const unpaddedTokens = Number(stat.num_unpadded_tokens);
  const paddedTokens = Number(stat.num_padded_tokens);
  const paddings = Number(stat.num_paddings);
  const runtimeMode = String(stat.runtime_mode);
  const key = `${unpaddedTokens} ${paddedTokens} ${paddings} ${runtimeMode}`;
  const known = total.runs.get(key);
  if (known !== undefined) known.count += 1;
  else if (total.runs.size < MAX_CUDAGRAPH_KINDS)
    total.runs.set(key, { unpaddedTokens, paddedTokens, paddings, runtimeMode, count: 1 });
  else total.others += 1;
}

/**
 * Adds what was gathered elsewhere, which stays as it is. All kinds: what is merged is bounded by itself, and of which
 * kinds there is most shows only then.
 */
export function mergeCudagraph(total: CudagraphTotal, other: CudagraphInterval): void {
  for (const [key, runs] of other.runs) {
    const known = total.runs.get(key);
    if (known === undefined) total.runs.set(key, { ...runs });
    else known.count += runs.count;
  }
  total.others += other.others;
}
