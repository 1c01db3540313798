import { Decoder, ExtData, type DecoderOptions } from '@msgpack/msgpack';
import { messageOf } from '../metrics/message-of.ts';
import { EngineCoreDecodeError } from './engine-core-decode-error.ts';
import type { MessagePackCursor } from './message-pack-cursor.ts';

const options: DecoderOptions = {
  // Extension types stay data, the standard's timestamps among them.
  extensionCodec: { tryToEncode: () => null, decode: (data, type) => new ExtData(type, data) },
  // A key that is no text is none that means anything: what becomes of it matters as little, so long as it is harmless.
  mapKeyConverter: (key) => (typeof key === 'string' ? key : typeof key),
};

/** Makes numbers of all integers, of those beyond 2^53 the nearest. */
const numbers = new Decoder(options);

/** Makes bigints of integers that take 64 bits on the wire, however small, so that large ones are summed without loss. */
const bigints = new Decoder({ ...options, useBigInt64: true });

/** Decodes the value at the cursor. */
export function decodeValue(
  cursor: MessagePackCursor,
  position: string,
  integers64: 'number' | 'bigint' = 'number',
): unknown {
  // So that the library believes no header either, the bytes have been checked to lie within the frame.
  const bytes = cursor.take(position);
  try {
    return (integers64 === 'bigint' ? bigints : numbers).decode(bytes);
  } catch (error) {
    throw new EngineCoreDecodeError(position, messageOf(error), { cause: error });
  }
}

/** Decodes the map at the cursor. */
export function decodeMap(
  cursor: MessagePackCursor,
  position: string,
  integers64: 'number' | 'bigint' = 'number',
): Readonly<Record<string, unknown>> {
  const kind = cursor.kind(position);
  if (kind !== 'map') throw new EngineCoreDecodeError(position, `must be a map, is ${kind}`);
  return decodeValue(cursor, position, integers64) as Readonly<Record<string, unknown>>;
}
