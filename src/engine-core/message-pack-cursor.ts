import { EngineCoreDecodeError } from './engine-core-decode-error.ts';

/** What kind of value stands at a position, as far as the decoder needs to tell. */
export type ValueKind = 'nil' | 'integer' | 'float' | 'string' | 'array' | 'map' | 'other';

const NIL = 0xc0;

/**
 * A place in a MessagePack frame: tells what stands there, reads headers, numbers and strings, and passes over
 * everything else without making anything of it. Whole maps are left to the library.
 *
 * Passing over a value checks that all of it lies within the frame, so that nothing a header claims is believed.
 */
export class MessagePackCursor {
  readonly frame: Buffer;
  /** Offset of the next value. */
  offset = 0;

  constructor(frame: Uint8Array) {
    this.frame = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  }

  get atEnd(): boolean {
    return this.offset === this.frame.length;
  }

  /** What stands at the cursor, which stays. */
  kind(position: string): ValueKind {
    const type = this.frame[this.offset];
    if (type === undefined) throw truncated(position);
    return kindOf(type);
  }

  /** Passes over a nil, where one stands here. */
  skipNil(): boolean {
    if (this.frame[this.offset] !== NIL) return false;
    this.offset += 1;
    return true;
  }

  /** Reads the header of an array: how many values follow, each of which takes at least a byte. */
  readArrayLength(position: string): number {
    const type = this.#take(position);
    let length: number;
    if (type >= 0x90 && type <= 0x9f) length = type & 0x0f;
    else if (type === 0xdc) length = this.#takeUint(2, position);
    else if (type === 0xdd) length = this.#takeUint(4, position);
    else throw new EngineCoreDecodeError(position, `must be an array, is ${describe(type)}`);
    if (length > this.frame.length - this.offset) throw truncated(position);
    return length;
  }

  /** Reads a string. */
  readString(position: string): string {
    const type = this.#take(position);
    let length: number;
    if (type >= 0xa0 && type <= 0xbf) length = type & 0x1f;
    else if (type === 0xd9) length = this.#takeUint(1, position);
    else if (type === 0xda) length = this.#takeUint(2, position);
    else if (type === 0xdb) length = this.#takeUint(4, position);
    else throw new EngineCoreDecodeError(position, `must be a string, is ${describe(type)}`);
    const end = this.offset + length;
    if (end > this.frame.length) throw truncated(position);
    const start = this.offset;
    this.offset = end;
    return this.frame.toString('utf8', start, end);
  }

  /** Reads an integer or float; one beyond 2^53 becomes the nearest number. */
  readNumber(position: string): number {
    const type = this.#take(position);
    if (type <= 0x7f) return type;
    if (type >= 0xe0) return type - 0x100;
    const size = NUMBER_SIZES[type];
    if (size === undefined)
      throw new EngineCoreDecodeError(position, `must be a number, is ${describe(type)}`);
    const start = this.offset;
    if (start + size > this.frame.length) throw truncated(position);
    this.offset = start + size;
    switch (type) {
      case 0xca:
        return this.frame.readFloatBE(start);
      case 0xcb:
        return this.frame.readDoubleBE(start);
      case 0xcf:
        return Number(this.frame.readBigUInt64BE(start));
      case 0xd3:
        return Number(this.frame.readBigInt64BE(start));
      default:
        return type <= 0xce ? this.frame.readUIntBE(start, size) : this.frame.readIntBE(start, size);
    }
  }

  /** Passes over a whole value, however deep, and returns its bytes. */
  take(position: string): Uint8Array {
    const start = this.offset;
    this.skip(position);
    return this.frame.subarray(start, this.offset);
  }

  /**
   * Passes over a whole value, however deep.
   *
   * Without recursion: a frame of nothing but nested arrays is no way to overflow the stack.
   */
  skip(position: string): void {
    const { frame } = this;
    let { offset } = this;
    let values = 1;
    while (values > 0) {
      values -= 1;
      const type = frame[offset];
      if (type === undefined) throw truncated(position);
      offset += 1;
      if (type <= 0x7f || type >= 0xe0) continue;
      if (type <= 0x8f) values += 2 * (type & 0x0f);
      else if (type <= 0x9f) values += type & 0x0f;
      else if (type <= 0xbf) offset += type & 0x1f;
      else {
        const fixed = FIXED_SIZES[type - 0xc0] ?? -1;
        if (fixed >= 0) offset += fixed;
        else {
          this.offset = offset;
          values += this.#skipBody(type, position);
          offset = this.offset;
        }
      }
      if (values > frame.length - offset) throw truncated(position);
    }
    this.offset = offset;
  }

  /** Passes over what belongs to a type byte of variable size itself; returns how many values follow. */
  #skipBody(type: number, position: string): number {
    const lengthBytes = LENGTH_BYTES[type];
    if (lengthBytes === undefined) {
      throw new EngineCoreDecodeError(position, `is no MessagePack: type ${describe(type)}`);
    }
    const length = this.#takeUint(lengthBytes, position);
    if (type >= 0xde) return 2 * length;
    if (type >= 0xdc) return length;
    // An extension has a byte that says which, behind its length.
    this.offset += type >= 0xc7 && type <= 0xc9 ? length + 1 : length;
    return 0;
  }

  #take(position: string): number {
    const type = this.frame[this.offset];
    if (type === undefined) throw truncated(position);
    this.offset += 1;
    return type;
  }

  #takeUint(bytes: number, position: string): number {
    const start = this.offset;
    if (start + bytes > this.frame.length) throw truncated(position);
    this.offset = start + bytes;
    return this.frame.readUIntBE(start, bytes);
  }
}

/** Sizes in bytes of what follows the type byte of a number. */
const NUMBER_SIZES: Readonly<Record<number, number>> = {
  0xca: 4,
  0xcb: 8,
  0xcc: 1,
  0xcd: 2,
  0xce: 4,
  0xcf: 8,
  0xd0: 1,
  0xd1: 2,
  0xd2: 4,
  0xd3: 8,
};

/**
 * The same for every type from 0xc0 to 0xdf, -1 where the size varies or there is no such type; an extension's counts the
 * byte that says which.
 */
const FIXED_SIZES: Int8Array = Int8Array.from({ length: 0x20 }, (_, low) => {
  const type = 0xc0 + low;
  if (type === NIL || type === 0xc2 || type === 0xc3) return 0;
  if (type >= 0xd4 && type <= 0xd8) return 1 + 2 ** (type - 0xd4);
  return NUMBER_SIZES[type] ?? -1;
});

/** How many bytes the length takes, for types that have one: bin, ext, str, array, map. */
const LENGTH_BYTES: Readonly<Record<number, number>> = {
  0xc4: 1,
  0xc5: 2,
  0xc6: 4,
  0xc7: 1,
  0xc8: 2,
  0xc9: 4,
  0xd9: 1,
  0xda: 2,
  0xdb: 4,
  0xdc: 2,
  0xdd: 4,
  0xde: 2,
  0xdf: 4,
};

function kindOf(type: number): ValueKind {
  if (type <= 0x7f || type >= 0xe0) return 'integer';
  if (type <= 0x8f || type >= 0xde) return 'map';
  if (type <= 0x9f || type >= 0xdc) return 'array';
  if (type <= 0xbf || type >= 0xd9) return 'string';
  if (type === NIL) return 'nil';
  if (type === 0xca || type === 0xcb) return 'float';
  return type >= 0xcc && type <= 0xd3 ? 'integer' : 'other';
}

function describe(type: number): string {
  const kind = kindOf(type);
  return kind === 'other' ? `0x${type.toString(16)}` : kind;
}

function truncated(position: string): EngineCoreDecodeError {
  return new EngineCoreDecodeError(position, 'the frame ends within it');
}
