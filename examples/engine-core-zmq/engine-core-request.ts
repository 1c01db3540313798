import { decode, encode } from '@msgpack/msgpack';

/** What a frontend asks of an engine, as far as this example goes. */
export type EngineCoreRequest =
  | {
      readonly kind: 'add';
      readonly id: string;
      readonly promptTokenIds: readonly number[];
      readonly maxTokens: number | undefined;
      /** Tokens after which the simulated model stops by itself. */
      readonly outputTokens: number;
      /** Wall clock, seconds since the epoch. */
      readonly arrivalTime: number;
    }
  | { readonly kind: 'abort'; readonly ids: readonly string[] };

/** The type byte in front of a request. */
const TYPE = { add: 0, abort: 1 } as const;

/** Makes the frames that go to an engine, behind its identity: the type byte, and the request in MessagePack. */
export function encodeRequest(request: EngineCoreRequest): readonly [Uint8Array, Uint8Array] {
  const body = request.kind === 'abort' ? request.ids : toFields(request);
  return [Uint8Array.of(TYPE[request.kind]), encode(body, { ignoreUndefined: true })];
}

/**
 * Reads the frames that reach an engine.
 *
 * @returns The request, or undefined for a type that a simulated engine has no use for: waves and utility calls.
 * @throws TypeError, or RangeError, where they are no request.
 */
export function decodeRequest([type, body]: readonly Uint8Array[]): EngineCoreRequest | undefined {
  if (type?.[0] !== TYPE.add && type?.[0] !== TYPE.abort) return undefined;
  const fields = body === undefined ? undefined : decode(body);
  if (!Array.isArray(fields)) throw new TypeError('a request must be an array');
  return type[0] === TYPE.add ? fromFields(fields) : { kind: 'abort', ids: fields.filter(isString) };
}

// Positions 6 and up, of LoRA, data parallelism, priority and trace headers, all have their defaults here, so they are
// left out.
function toFields(request: Extract<EngineCoreRequest, { kind: 'add' }>): readonly unknown[] {
  const { id, promptTokenIds, maxTokens, outputTokens, arrivalTime } = request;
  const samplingParams = { max_tokens: maxTokens, extra_args: { simulated_output_tokens: outputTokens } };
  return [id, promptTokenIds, null, samplingParams, null, arrivalTime];
}

interface SamplingParams {
  readonly max_tokens?: number;
  readonly extra_args?: { readonly simulated_output_tokens?: number };
}

function fromFields(fields: readonly unknown[]): EngineCoreRequest {
  const [id, promptTokenIds, , samplingParams, , arrivalTime] = fields;
  const { max_tokens: maxTokens, extra_args: extra } = (samplingParams ?? {}) as SamplingParams;
  if (!isString(id)) throw new TypeError('request_id must be a string');
  if (!Array.isArray(promptTokenIds)) throw new TypeError('prompt_token_ids must be an array');
  return {
    kind: 'add',
    id,
    promptTokenIds: promptTokenIds as readonly number[],
    maxTokens,
    outputTokens: extra?.simulated_output_tokens ?? Infinity,
    arrivalTime: Number(arrivalTime),
  };
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
