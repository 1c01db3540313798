import { FIXED_SIZES, LENGTH_BYTES } from '../../src/engine-core/message-pack-type.ts';

/** Where a value stands in a frame, header included: from its first byte to the one behind its last. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** Every value of a frame that is whole, those within others included; none where it is not. */
export function valuesOf(frame: Buffer): readonly Extent[] {
  const values: Extent[] = [];
  try {
    walk(frame, 0, values);
  } catch (error) {
    // Beyond the end of the frame, or of the stack.
    if (!(error instanceof RangeError)) throw error;
    return [];
  }
  return values;
}

/** @returns Where the value at `start` ends. */
function walk(frame: Buffer, start: number, values: Extent[]): number {
  const type = frame.readUInt8(start);
  const lengthBytes = LENGTH_BYTES[type] ?? 0;
  let end = start + 1 + lengthBytes;
  const length = lengthBytes === 0 ? fixedLength(type) : frame.readUIntBE(start + 1, lengthBytes);
  const isMap = (type >= 0x80 && type <= 0x8f) || type >= 0xde;
  if (isMap || (type >= 0x90 && type <= 0x9f) || type >= 0xdc) {
    const inner = isMap ? 2 * length : length;
    for (let value = 0; value < inner; value += 1) end = walk(frame, end, values);
  } else end += type >= 0xc7 && type <= 0xc9 ? length + 1 : length;
  if (end > frame.length) throw new RangeError('the frame ends within a value');
  values.push({ start, end });
  return end;
}

/** How much follows a type that has no length of its own: pairs, values or bytes. */
function fixedLength(type: number): number {
  if (type <= 0x7f || type >= 0xe0) return 0;
  if (type <= 0x9f) return type & 0x0f;
  return type <= 0xbf ? type & 0x1f : Math.max(FIXED_SIZES[type - 0xc0] ?? 0, 0);
}
