import type { Attributes } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { PrefillStats } from './prefill-stats.ts';
import type { TraceHeaders } from './trace-headers.ts';

/** The most choices one request may ask for: vLLM's own default limit. */
const MAX_CHOICES = 16_384;

/**
 * What is known of a request when it starts. Everything is optional; a value that can't be right is left out and
 * counted in `status().dropped.invalidValue`, since a bad request parameter must not fail the request.
 */
export interface RequestOptions {
  /** The id under which the engine's messages name the request. Default: a random UUID. */
  readonly requestId?: string | undefined;
  /** Prompt length in tokens. Default: what the engine's prefill statistics say. */
  readonly promptTokens?: number | undefined;
  /** The max_tokens parameter. Default: not set, and then not recorded. */
  readonly maxTokens?: number | undefined;
  /** How many choices the request asks for, 1 to 16384. Default 1. */
  readonly n?: number | undefined;
  /** Name of the LoRA adapter. Default: none. */
  readonly loraName?: string | undefined;
  /** When the request arrived: wall clock, seconds since the epoch. Default: now. */
  readonly arrivalTime?: number | undefined;
  /** Ends the request as an abort when it fires. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The temperature parameter, for the span. */
  readonly temperature?: number | undefined;
  /** The top_p parameter, for the span. */
  readonly topP?: number | undefined;
  /** Further attributes of the span; metrics never get them. */
  readonly attributes?: Attributes | undefined;
}

/** Options of `startRequest`. */
export interface StartRequestOptions extends RequestOptions {
  /**
   * W3C Trace Context headers that came with the request; the span they name becomes the parent. Default: the
   * span of the active Context.
   */
  readonly traceHeaders?: TraceHeaders | undefined;
}

/** What is read of a response: Node's `ServerResponse` is one. */
export interface ClientResponse {
  /** Whether the application has ended the response. */
  readonly writableEnded: boolean;
}

/** Options of `adopt`. */
export interface AdoptOptions extends RequestOptions {
  /** Index of the engine that serves the request, 0 to 65535. Default 0. */
  readonly engine?: number | undefined;
  /**
   * The response to the client, of `node:http` say. Where the span ends before the response was ended, the client
   * has left, and the request counts as an abort; a span by itself does not tell. Default: none, and then `stop`.
   */
  readonly response?: ClientResponse | undefined;
}

/** Options of `recordTokens`. */
export interface RecordTokensOptions {
  /** When the engine produced the tokens: engine-monotonic seconds. Default: this process's monotonic clock. */
  readonly timestamp?: number | undefined;
  /** When the tokens arrived here: wall clock, seconds since the epoch. Default: now. */
  readonly receivedAt?: number | undefined;
  /**
   * How the prompt was prefilled, with a first output. Default there: the whole of `promptTokens` was computed.
   */
  readonly prefill?: PrefillStats | undefined;
}

/** Options of `end`. */
export interface EndOptions {
  /** When the request ended, as seen here: wall clock, seconds since the epoch. Default: now. */
  readonly receivedAt?: number | undefined;
  /** What went wrong, for the span of a request that ends with `error`. */
  readonly error?: unknown;
}

/** A request's options, checked. */
export interface RequestParameters {
  readonly requestId: string;
  readonly promptTokens: number | undefined;
  readonly maxTokens: number | undefined;
  readonly n: number;
  readonly loraName: string | undefined;
  readonly arrivalTime: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly attributes: Attributes | undefined;
  readonly response: ClientResponse | undefined;
}

/** Checks the options of a request, leaving out and counting what can't be right. */
export function resolveRequestOptions(
  options: RequestOptions & Pick<AdoptOptions, 'response'>,
  drops: Drops,
): RequestParameters {
  const accept = <T>(
    name: keyof RequestParameters,
    value: T | undefined,
    valid: (value: T) => boolean,
  ): T | undefined => {
    if (value === undefined || value === null || valid(value)) return value ?? undefined;
    drops.count('invalidValue', value, `${name} of a request`);
    return undefined;
  };
  return {
    requestId: accept('requestId', options.requestId, isText) ?? globalThis.crypto.randomUUID(),
    promptTokens: accept('promptTokens', options.promptTokens, isTokenCount),
    maxTokens: accept('maxTokens', options.maxTokens, isTokenCount),
    n: accept('n', options.n, (n) => isTokenCount(n) && n >= 1 && n <= MAX_CHOICES) ?? 1,
    loraName: accept('loraName', options.loraName, isText),
    arrivalTime: accept('arrivalTime', options.arrivalTime, isTime),
    signal: accept('signal', options.signal, isAbortSignal),
    temperature: accept('temperature', options.temperature, Number.isFinite),
    topP: accept('topP', options.topP, Number.isFinite),
    attributes: options.attributes,
    response: accept('response', options.response, isClientResponse),
  };
}

/** A whole, finite number of tokens, 0 or more. */
export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Later than any clock says, in seconds. Sums of times that are smaller stay finite. */
const END_OF_TIME = 1e12;

/** A time in seconds, 0 or more, and none that no clock can say. */
export function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < END_OF_TIME;
}

function isClientResponse(value: unknown): boolean {
  return typeof value === 'object' && typeof (value as ClientResponse).writableEnded === 'boolean';
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isAbortSignal(value: unknown): boolean {
  return typeof value === 'object' && typeof (value as AbortSignal).addEventListener === 'function';
}
