import { Decoder } from '@msgpack/msgpack';
import { EngineCoreDecodeError } from './engine-core-decode-error.ts';
import type { MessagePackCursor } from './message-pack-cursor.ts';

// Extension types that nobody registered stay data; 64-bit integers stay exact.
const decoder = new Decoder({ useBigInt64: true });

/** Decodes the map at the cursor, or a list of them. Its bytes have been checked to lie within the frame. */
export function decodeValue(cursor: MessagePackCursor, position: string): unknown {
  const bytes = cursor.take(position);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineCoreDecodeError(position, reason, { cause: error });
  }
}

/** Decodes the map at the cursor. */
export function decodeMap(cursor: MessagePackCursor, position: string): Readonly<Record<string, unknown>> {
  const kind = cursor.kind(position);
  if (kind !== 'map') throw new EngineCoreDecodeError(position, `must be a map, is ${kind}`);
  return decodeValue(cursor, position) as Readonly<Record<string, unknown>>;
}
