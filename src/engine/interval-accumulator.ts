import type { CudagraphStat, SpecDecodingStats, Statistic } from './messages.ts';
import type { NixlStats } from './nixl-recorder.ts';
import { isAmount } from './statistics.ts';

/** The draft positions that are kept apart; tokens accepted further on go to a rest. */
export const MAX_POSITIONS = 64;
/** The kinds of CUDA-graph runs that are kept apart in one interval; runs of further kinds go to a rest. */
export const MAX_CUDAGRAPH_KINDS = 1024;
/** The durations that are kept of one interval for quantiles: all up to here, from then on a uniform sample. */
export const MAX_DURATIONS = 8192;

/** Names like `FULL` or `CUDAGraphMode.PIECEWISE`. They end up in a table of a log: nothing else may. */
const RUNTIME_MODE = /^[\w.]{1,64}$/;

/** What speculative decoding did in an interval. */
export interface SpecDecodeInterval {
  readonly drafts: number;
  readonly draftTokens: number;
  readonly acceptedTokens: number;
  /** Accepted tokens by draft position, as many as were seen and at most {@link MAX_POSITIONS}. */
  readonly acceptedPerPosition: readonly number[];
  /** Accepted tokens at positions beyond these. */
  readonly acceptedBeyond: number;
}

/** Runs of the model that were alike in an interval. */
interface CudagraphRuns {
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

/** Durations of an interval. */
export interface Durations {
  readonly count: number;
  readonly totalSeconds: number;
  /** Seconds each, in no order, at most {@link MAX_DURATIONS}. */
  readonly sample: readonly number[];
}

/** What the NIXL connector transferred in an interval. */
export interface NixlInterval {
  readonly transfers: Durations;
  readonly posts: Durations;
  readonly bytes: number;
  readonly descriptors: number;
  readonly failedTransfers: number;
  readonly failedNotifications: number;
  readonly kvExpiredRequests: number;
}

/** What was observed in an interval; undefined where nothing of the kind came. */
export interface ObservedInterval {
  readonly specDecode: SpecDecodeInterval | undefined;
  readonly cudagraph: CudagraphInterval | undefined;
  readonly nixl: NixlInterval | undefined;
}

/**
 * Gathers, between two lines of a stats log, what no series of the metrics can tell: accepted tokens per draft
 * position of the interval alone, the model's runs by their four parts, and durations for quantiles. Each log has
 * one accumulator of its own per engine, so that none takes from another. Bounded in size, whatever the engine sends; a
 * value that is negative, not finite or no number never enters (the recorders count it).
 */
export class IntervalAccumulator {
  #specDecode: Writable<SpecDecodeInterval> | undefined;
  #cudagraph: Writable<CudagraphInterval> | undefined;
  #nixl: Writable<NixlInterval> | undefined;

  /** Adds the speculative decoding of one engine step. */
  observeSpecDecode(stats: SpecDecodingStats): void {
    const total = (this.#specDecode ??= newSpecDecode());
    total.drafts += countOf(stats.num_drafts);
    total.draftTokens += countOf(stats.num_draft_tokens);
    total.acceptedTokens += countOf(stats.num_accepted_tokens);
    addPositions(total, stats.num_accepted_tokens_per_pos);
  }

  /** Adds one run of the model. One with a part that can't be right is left out. */
  observeCudagraph(stat: CudagraphStat): void {
    const unpaddedTokens = valid(stat.num_unpadded_tokens);
    const paddedTokens = valid(stat.num_padded_tokens);
    const paddings = valid(stat.num_paddings);
    const runtimeMode = stat.runtime_mode;
    if (typeof runtimeMode !== 'string' || Number.isNaN(unpaddedTokens + paddedTokens + paddings)) return;
    const key = `${unpaddedTokens} ${paddedTokens} ${paddings} ${runtimeMode}`;
    const known = this.#cudagraph?.runs.get(key);
    if (known !== undefined) known.count += 1;
    else if (RUNTIME_MODE.test(runtimeMode)) {
      const total = (this.#cudagraph ??= newCudagraph());
      addRuns(
        total,
        key,
        { unpaddedTokens, paddedTokens, paddings, runtimeMode, count: 1 },
        MAX_CUDAGRAPH_KINDS,
      );
    }
  }

  /** Adds the NIXL connector's transfers since its previous statistics. */
  observeNixl(stats: Partial<NixlStats>): void {
    const total = (this.#nixl ??= newNixl());
    addDurations(total.transfers, stats.transfer_duration);
    addDurations(total.posts, stats.post_duration);
    total.bytes += sumOf(stats.bytes_transferred);
    total.descriptors += sumOf(stats.num_descriptors);
    total.failedTransfers += sumOf(stats.num_failed_transfers);
    total.failedNotifications += sumOf(stats.num_failed_notifications);
    total.kvExpiredRequests += sumOf(stats.num_kv_expired_reqs);
  }

  /** Takes what was observed since the last time, and begins anew. */
  drain(): ObservedInterval {
    const observed = { specDecode: this.#specDecode, cudagraph: this.#cudagraph, nixl: this.#nixl };
    this.#specDecode = undefined;
    this.#cudagraph = undefined;
    this.#nixl = undefined;
    return observed;
  }

  /** Adds what another accumulator had gathered; `other` stays as it is. */
  merge(other: ObservedInterval): void {
    if (other.specDecode !== undefined) this.#mergeSpecDecode(other.specDecode);
    if (other.cudagraph !== undefined) this.#mergeCudagraph(other.cudagraph);
    if (other.nixl !== undefined) this.#mergeNixl(other.nixl);
  }

  #mergeSpecDecode(other: SpecDecodeInterval): void {
    const total = (this.#specDecode ??= newSpecDecode());
    total.drafts += other.drafts;
    total.draftTokens += other.draftTokens;
    total.acceptedTokens += other.acceptedTokens;
    addPositions(total, other.acceptedPerPosition);
    total.acceptedBeyond += other.acceptedBeyond;
  }

  #mergeCudagraph(other: CudagraphInterval): void {
    const total = (this.#cudagraph ??= newCudagraph());
    // All of them: what is merged is bounded by itself, and of which kinds there is most shows only then.
    for (const [key, runs] of other.runs) addRuns(total, key, runs, Infinity);
    total.others += other.others;
  }

  #mergeNixl(other: NixlInterval): void {
    const total = (this.#nixl ??= newNixl());
    mergeDurations(total.transfers, other.transfers);
    mergeDurations(total.posts, other.posts);
    total.bytes += other.bytes;
    total.descriptors += other.descriptors;
    total.failedTransfers += other.failedTransfers;
    total.failedNotifications += other.failedNotifications;
    total.kvExpiredRequests += other.kvExpiredRequests;
  }
}

/** A list off the wire, if it is one. */
type Values = readonly Statistic[] | null | undefined;

type Writable<T> = T extends number | string
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? Map<K, Writable<V>>
    : T extends readonly (infer V)[]
      ? V[]
      : { -readonly [Name in keyof T]: Writable<T[Name]> };

function newSpecDecode(): Writable<SpecDecodeInterval> {
  return { drafts: 0, draftTokens: 0, acceptedTokens: 0, acceptedPerPosition: [], acceptedBeyond: 0 };
}

function newCudagraph(): Writable<CudagraphInterval> {
  return { runs: new Map(), others: 0 };
}

function newNixl(): Writable<NixlInterval> {
  return {
    transfers: { count: 0, totalSeconds: 0, sample: [] },
    posts: { count: 0, totalSeconds: 0, sample: [] },
    bytes: 0,
    descriptors: 0,
    failedTransfers: 0,
    failedNotifications: 0,
    kvExpiredRequests: 0,
  };
}

/** A step may know more positions than those before: the list grows with it. */
function addPositions(total: Writable<SpecDecodeInterval>, accepted: Values): void {
  const list = listOf(accepted);
  for (let position = 0; position < list.length; position += 1) {
    const count = countOf(list[position]);
    if (position < MAX_POSITIONS) {
      total.acceptedPerPosition[position] = (total.acceptedPerPosition[position] ?? 0) + count;
    } else total.acceptedBeyond += count;
  }
}

function addRuns(total: Writable<CudagraphInterval>, key: string, runs: CudagraphRuns, most: number): void {
  const known = total.runs.get(key);
  if (known !== undefined) known.count += runs.count;
  else if (total.runs.size < most) total.runs.set(key, { ...runs });
  else total.others += runs.count;
}

function addDurations(total: Writable<Durations>, durations: Values): void {
  for (const duration of listOf(durations)) {
    const seconds = valid(duration);
    if (Number.isNaN(seconds)) continue;
    total.count += 1;
    total.totalSeconds += seconds;
    sample(total, seconds);
  }
}

function mergeDurations(total: Writable<Durations>, other: Durations): void {
  const { count, sample: kept } = total;
  total.count += other.count;
  total.totalSeconds += other.totalSeconds;
  const room = Math.min(total.count, MAX_DURATIONS);
  if (kept.length + other.sample.length <= room) {
    total.sample = [...kept, ...other.sample];
    return;
  }
  // Each place goes to one of the two by how many each stands for, not by how many each has kept.
  const share = count / total.count;
  const ours = [...kept];
  const theirs = [...other.sample];
  total.sample = Array.from({ length: room }, () => {
    const takesOurs = theirs.length === 0 || (ours.length > 0 && Math.random() < share);
    return drawOne(takesOurs ? ours : theirs);
  });
}

/** Takes any one out of a list that is not empty. */
function drawOne(list: number[]): number {
  const last = list.pop() ?? 0;
  const position = Math.floor(Math.random() * (list.length + 1));
  const drawn = list[position] ?? last;
  if (position < list.length) list[position] = last;
  return drawn;
}

/** Reservoir sampling (Vitter's algorithm R): of more than fit, each is kept with the same probability. */
function sample(total: Writable<Durations>, seconds: number): void {
  if (total.sample.length < MAX_DURATIONS) {
    total.sample.push(seconds);
    return;
  }
  const slot = Math.floor(Math.random() * total.count);
  if (slot < MAX_DURATIONS) total.sample[slot] = seconds;
}

function sumOf(counts: Values): number {
  let sum = 0;
  for (const count of listOf(counts)) sum += countOf(count);
  return sum;
}

function listOf(values: Values): readonly Statistic[] {
  return Array.isArray(values) ? (values as readonly Statistic[]) : NO_VALUES;
}

const NO_VALUES: readonly Statistic[] = [];

function countOf(value: Statistic | undefined): number {
  const count = valid(value);
  return count > 0 ? count : 0;
}

/** The value as a number; NaN where it is none that the series take. */
function valid(value: Statistic | undefined): number {
  return isAmount(value) ? Number(value) : Number.NaN;
}
