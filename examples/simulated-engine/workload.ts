import type { RequestSpec } from './engine-request.ts';
import type { Random } from './random.ts';
import { contentOf, type TextSegment } from './token-sequence.ts';

/** A client that goes away before it has its answer, unless the answer is faster. */
export interface HangUp {
  /** It goes some time after this many tokens have reached it; after its arrival where this is 0. */
  readonly afterTokens: number;
  /** The time that it still takes then, in seconds. */
  readonly afterSeconds: number;
}

/** A request on its way to an engine. */
export interface WorkloadRequest extends RequestSpec {
  /** Seconds since the beginning of the simulation. */
  readonly arrival: number;
  readonly hangUp?: HangUp;
}

/** How many tokens: log-normal, cut off at `max`. */
interface LengthDistribution {
  readonly median: number;
  /** Spread of the logarithm. 1 puts one in twenty above five times the median. */
  readonly sigma: number;
  readonly max: number;
}

/** What a generated workload looks like. */
export interface WorkloadOptions {
  /** Requests per second, on average; they arrive as a Poisson process. */
  readonly rate: number;
  /** Seconds during which requests arrive. */
  readonly duration: number;
  readonly random: Random;
  /** Length of what is particular to a prompt. Default: median 350, sigma 1, at most 6,000. */
  readonly prompt?: LengthDistribution;
  /** Length of the answer. Default: median 250, sigma 1, at most 2,000. */
  readonly output?: LengthDistribution;
  /** Share of the requests that begin with one of a few common system prompts. Default 0.5. */
  readonly sharedPrefixShare?: number;
  /** `max_tokens` of every request. Default 1,024. */
  readonly maxTokens?: number;
}

/** Eight system prompts of different lengths. */
const SYSTEM_PROMPTS: readonly TextSegment[] = [40, 64, 96, 160, 224, 320, 448, 640].map((tokens) => ({
  content: contentOf(`system prompt of ${tokens} tokens`),
  tokens,
}));

/** Requests as a busy chat service gets them: Poisson arrivals, lengths with long tails, some common beginnings. */
export function* generateWorkload(options: WorkloadOptions): Generator<WorkloadRequest, void> {
  const { rate, duration, random, sharedPrefixShare = 0.5, maxTokens = 1024 } = options;
  const prompt = options.prompt ?? { median: 350, sigma: 1, max: 6000 };
  const output = options.output ?? { median: 250, sigma: 1, max: 2000 };
  let arrival = random.exponential(1 / rate);
  for (let count = 1; arrival < duration; count += 1) {
    const id = `request-${count}`;
    const own = { content: contentOf(`prompt of ${id}`), tokens: drawLength(random, prompt) };
    const shares = random.next() < sharedPrefixShare;
    const system = SYSTEM_PROMPTS[random.integer(SYSTEM_PROMPTS.length)];
    yield {
      id,
      arrival,
      prompt: shares && system !== undefined ? [system, own] : [own],
      outputTokens: drawLength(random, output),
      maxTokens,
    };
    arrival += random.exponential(1 / rate);
  }
}

/**
 * Makes this share of the clients impatient: after some part of the answer, any part being equally likely, they go
 * within a quarter of a second on average.
 */
export function* withHangUps(
  requests: Iterable<WorkloadRequest>,
  share: number,
  random: Random,
): Generator<WorkloadRequest, void> {
  for (const request of requests) {
    const impatient = random.next() < share;
    const afterTokens = random.integer(request.outputTokens);
    const afterSeconds = random.exponential(0.25);
    yield impatient ? { ...request, hangUp: { afterTokens, afterSeconds } } : request;
  }
}

function drawLength(random: Random, { median, sigma, max }: LengthDistribution): number {
  return Math.min(Math.max(Math.round(random.logNormal(median, sigma)), 1), max);
}
