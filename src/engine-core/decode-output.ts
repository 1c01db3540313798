import type { EngineCoreEvent, EngineCoreOutput } from '../engine/messages.ts';
import type { PrefillStats } from '../request/prefill-stats.ts';
import { decodeMap, decodeValue } from './decode-map.ts';
import { EngineCoreDecodeError } from './engine-core-decode-error.ts';
import type { MessagePackCursor } from './message-pack-cursor.ts';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };
type Output = Writable<EngineCoreOutput>;

/**
 * Decodes one output. Positions 0 to 8 never moved; what stands behind them tells the layout:
 *
 * | layout | 9 | 10 | 11 | 12 | 13 |
 * |---|---|---|---|---|---|
 * | A | cached tokens | | | | |
 * | B | trace headers | cached tokens | external tokens | routed experts | NaNs |
 * | C | trace headers | prefill statistics | routed experts | NaNs | |
 * | D and later | EC transfer | trace headers | prefill statistics | routed experts | NaNs |
 *
 * A number at 9, 10 or 11 is a count of A or B, a map with `num_prompt_tokens` is the prefill statistics, and a number
 * at 12 or 13 that of NaNs. Trace headers are taken from the position before the prefill statistics.
 */
export function decodeOutput(cursor: MessagePackCursor): EngineCoreOutput {
  const length = cursor.readArrayLength('');
  if (length === 0) throw new EngineCoreDecodeError('', 'must have a request_id');
  const output: Output = { request_id: cursor.readId('request_id') };
  let before = cursor.offset;
  for (let position = 1; position < length; position += 1) {
    const start = cursor.offset;
    if (!cursor.skipNil()) decodeField(cursor, output, position, before);
    before = start;
  }
  return output;
}

/** @param before - Offset of the position before. */
function decodeField(cursor: MessagePackCursor, output: Output, position: number, before: number): void {
  switch (position) {
    case 1:
      output.new_token_ids = countTokens(cursor);
      return;
    case 5:
      output.finish_reason = cursor.readNumber('finish_reason');
      return;
    case 7:
      output.events = decodeEvents(cursor);
      return;
    case 9:
    case 10:
    case 11:
      decodePrefill(cursor, output, position, before);
      return;
    case 12:
    case 13:
      decodeNans(cursor, output, position);
      return;
    default:
      cursor.skip(nameOf(position));
  }
}

/** The key by which prefill statistics are told from trace headers. */
const NUM_PROMPT_TOKENS = Buffer.from('num_prompt_tokens', 'latin1');

/** Names of the positions that every layout has; further ones are called by their number. */
const NAMES: readonly string[] = [
  'request_id',
  'new_token_ids',
  'new_logprobs',
  'new_prompt_logprobs_tensors',
  'pooling_output',
  'finish_reason',
  'stop_reason',
  'events',
  'kv_transfer_params',
  ...Array.from({ length: 23 }, (_, index) => `[${index + 9}]`),
];

function nameOf(position: number): string {
  return NAMES[position] ?? 'a position beyond those known';
}

/** One object per length that is common, so that a token costs no allocation. */
const LENGTHS: readonly { readonly length: number }[] = Array.from({ length: 65 }, (_, length) =>
  Object.freeze({ length }),
);

function countTokens(cursor: MessagePackCursor): { readonly length: number } {
  const length = cursor.readArrayLength('new_token_ids');
  for (let token = 0; token < length; token += 1) cursor.skip('new_token_ids');
  return LENGTHS[length] ?? { length };
}

function decodeEvents(cursor: MessagePackCursor): readonly EngineCoreEvent[] {
  const kind = cursor.kind('events');
  if (kind !== 'array') throw new EngineCoreDecodeError('events', `must be an array, is ${kind}`);
  return decodeValue(cursor, 'events') as readonly EngineCoreEvent[];
}

function decodePrefill(cursor: MessagePackCursor, output: Output, position: number, before: number): void {
  const start = cursor.offset;
  const kind = cursor.kind(nameOf(position));
  if (kind === 'number') {
    const tokens = cursor.readNumber(nameOf(position));
    // Old engines send counts alone; how long the prompt is, the request knows.
    output.prefill_stats =
      position === 11
        ? { ...output.prefill_stats, ...splitCached(output.prefill_stats?.num_cached_tokens ?? 0, tokens) }
        : { num_cached_tokens: tokens, num_local_cached_tokens: tokens };
  } else if (kind === 'map' && position !== 9) {
    if (!cursor.skipMap(NUM_PROMPT_TOKENS, nameOf(position))) return;
    const end = cursor.offset;
    cursor.offset = start;
    output.prefill_stats = decodeMap(cursor, nameOf(position));
    cursor.offset = before;
    if (cursor.kind('') === 'map') decodeTraceHeaders(cursor, output, nameOf(position - 1));
    cursor.offset = end;
  } else cursor.skip(nameOf(position));
}

/** Headers come with every output of a request; its first one, which has the prefill statistics, is enough. */
function decodeTraceHeaders(cursor: MessagePackCursor, output: Output, position: string): void {
  const headers = decodeMap(cursor, position);
  if (Object.values(headers).every((value) => typeof value === 'string')) {
    output.trace_headers = headers as Readonly<Record<string, string>>;
  }
}

/** @param given - -1 where it is not set. */
function splitCached(cached: number, given: number): PrefillStats {
  const external = Math.max(given, 0);
  return { num_local_cached_tokens: Math.max(cached - external, 0), num_external_cached_tokens: external };
}

function decodeNans(cursor: MessagePackCursor, output: Output, position: number): void {
  if (cursor.kind(nameOf(position)) === 'number')
    output.num_nans_in_logits = cursor.readNumber(nameOf(position));
  else cursor.skip(nameOf(position));
}
