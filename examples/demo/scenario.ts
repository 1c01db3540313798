import { readFile } from 'node:fs/promises';
import { SimulatedEngine } from '../simulated-engine/engine.ts';
import { Random } from '../simulated-engine/random.ts';
import { Simulation } from '../simulated-engine/simulation.ts';
import { countTokens } from '../simulated-engine/token-sequence.ts';
import { parseTrace } from '../simulated-engine/trace.ts';
import { TraceError } from '../simulated-engine/trace-error.ts';
import { generateWorkload, withHangUps, type WorkloadRequest } from '../simulated-engine/workload.ts';
import type { DemoOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

const BLOCK_SIZE = 16;
const LONGEST_MODEL_LEN = 131_072;
/** How long a run takes where the user does not say. */
const WALL_SECONDS = 4;

/** What the demo runs: the simulation and what there is to know about it beforehand. */
export interface Scenario {
  readonly options: DemoOptions;
  readonly requests: readonly WorkloadRequest[];
  readonly simulation: Simulation;
  readonly kvBlocks: number;
  readonly maxModelLen: number;
  /** Simulated seconds per second. */
  readonly timeScale: number;
}

/**
 * Makes the workload and the engines that the options ask for.
 *
 * @throws UsageError where the trace cannot be read.
 */
export async function createScenario(options: DemoOptions): Promise<Scenario> {
  const random = new Random(options.seed);
  const { duration = 120, rate } = options;
  const requests =
    options.trace === undefined
      ? [...generateWorkload({ rate, duration, random: random.fork() })]
      : await readTrace(options.trace, options.duration);
  const workload = [...withHangUps(requests, options.abortShare, random.fork())];
  const kvBlocks = options.kvBlocks ?? (options.trace === undefined ? 1024 : scarceBlocks(requests));
  const maxModelLen = Math.min(kvBlocks * BLOCK_SIZE, LONGEST_MODEL_LEN);
  const clockOffsets = Array.from({ length: options.engines }, () => random.integer(1_000_000));
  // The setting that thrashes when the cache is scarce, which is what there is to see here.
  const reserveFullPrompt = false;
  const createSimulation = (): Simulation => {
    const engines = clockOffsets.map((clockOffset, index) => {
      const settings = {
        index,
        kvBlocks,
        blockSize: BLOCK_SIZE,
        maxModelLen,
        reserveFullPrompt,
        clockOffset,
      };
      return new SimulatedEngine(settings);
    });
    return new Simulation({ engines, workload });
  };
  return {
    options,
    requests,
    simulation: createSimulation(),
    kvBlocks,
    maxModelLen,
    timeScale: options.timeScale ?? Math.max(simulatedSeconds(createSimulation()) / WALL_SECONDS, 1),
  };
}

/** How long a simulation takes, by running it: the same one a second time takes exactly as long. */
function simulatedSeconds(simulation: Simulation): number {
  let seconds = 0;
  for (const { at } of simulation) seconds = at;
  return seconds;
}

async function readTrace(path: string, duration = Infinity): Promise<readonly WorkloadRequest[]> {
  try {
    return parseTrace(await readFile(path, 'utf8')).filter(({ arrival }) => arrival < duration);
  } catch (error) {
    if (error instanceof TraceError) throw new UsageError(`--trace: ${path}, ${error.message}`);
    throw new UsageError(
      `--trace: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Any single request fits, but not many at once. */
function scarceBlocks(requests: readonly WorkloadRequest[]): number {
  const longest = Math.max(...requests.map(({ prompt, outputTokens }) => countTokens(prompt) + outputTokens));
  return Math.ceil((longest * 1.25) / BLOCK_SIZE);
}
