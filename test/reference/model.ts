import type { AllSeries, Labels } from './series.ts';

/** What the instrumentation of the same stream is configured with. */
export interface ModelOptions {
  readonly modelName: string;
  readonly maxModelLen: number | undefined;
  readonly maxLoras: number | undefined;
  readonly isDiffusion: boolean;
  readonly trackUnknownRequests: boolean;
}

/** One engine. */
export interface ModelEngine {
  readonly labels: Labels;
  /** The requests in flight, those under an id that another one has among them. */
  readonly live: Set<ModelRequest>;
  /** Ids of requests that ended, of which the engine may still have outputs. */
  readonly ended: Set<string>;
  /** Whether any request ever ran on it. */
  served: boolean;
  /** Whether anything came from it since the last collection. */
  heard: boolean;
  /** The last collection before which it was heard of or had something in flight; monotonic seconds. */
  quietSince: number | undefined;
}

/**
 * What vLLM's metrics are after a stream of actions: its semantics once more, one function per rule, with neither
 * handles nor caches, to hold the instrumentation against. Slow, and right by being read.
 */
export interface Model {
  readonly options: ModelOptions;
  readonly series: AllSeries;
  readonly engines: Map<number, ModelEngine>;
  /** Engines that were removed. None comes back: the SDK would go on with what it remembers of its series. */
  readonly removed: Set<number>;
  /** The choices of each started request. */
  readonly requests: Map<number, readonly ModelRequest[]>;
  adapters: AdapterNote | undefined;
  /** Wall clock and engine-like clock of the frontend, in seconds. */
  wall: number;
  monotonic: number;
}

/** The adapters as they were last told. */
interface AdapterNote {
  readonly waiting: string;
  readonly running: string;
}

/** What a user asked for: one engine request, or n of them. */
export interface UserRequest {
  readonly n: number;
  /** Choices that have not ended. */
  open: number;
  /** Tokens of the longest choice that has ended. */
  longest: number;
}

/** One engine request. A time that is undefined was never set; engine seconds but for the arrival. */
export interface ModelRequest {
  readonly id: string;
  readonly user: UserRequest;
  /** False where the engine's messages go to an earlier request of the same id. */
  readonly reachable: boolean;
  readonly promptTokens: number | undefined;
  readonly maxTokens: number | undefined;
  readonly loraName: string | undefined;
  /** Wall clock; undefined where the request was begun by its first output. */
  readonly arrival: number | undefined;
  adapterIs: 'waiting' | 'running' | undefined;
  prefilling: boolean;
  prefill: Prefill | undefined;
  queued: number | undefined;
  scheduled: number | undefined;
  firstToken: number | undefined;
  lastToken: number | undefined;
  generated: number;
  preemptions: number;
  corrupted: boolean;
}

/** Prompt tokens by where their KV came from. */
export interface Prefill {
  readonly prompt: number;
  readonly computed: number;
  readonly cached: number;
  readonly local: number;
  readonly external: number;
}
