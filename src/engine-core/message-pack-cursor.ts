import { EngineCoreDecodeError } from './engine-core-decode-error.ts';
import { KnownStrings } from './known-strings.ts';
import {
  describeType,
  FIXED_SIZES,
  kindOf,
  LENGTH_BYTES,
  NIL,
  NUMBER_SIZES,
  type ValueKind,
} from './message-pack-type.ts';

/** How deep the values may nest of which something is made. Engines send five levels. */
const MAX_DEPTH = 32;

const ids = new KnownStrings();

/**
 * A place in a MessagePack frame: tells what stands there, reads headers, numbers and strings, and passes over
 * everything else without making anything of it. Whole maps are left to the library.
 *
 * Passing over a value checks that all of it lies within the frame, so that nothing a header claims is believed.
 */
export class MessagePackCursor {
  readonly frame: Buffer;
  readonly #view: DataView;
  /** Offset of the next value. */
  offset = 0;

  constructor(frame: Uint8Array) {
    this.frame = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
    this.#view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
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

  /** Reads the header of an array: how many values it says follow. */
  readArrayLength(position: string): number {
    const type = this.#take(position);
    if (type >= 0x90 && type <= 0x9f) return type & 0x0f;
    if (type === 0xdc) return this.#takeUint(2, position);
    if (type === 0xdd) return this.#takeUint(4, position);
    throw new EngineCoreDecodeError(position, `must be an array, is ${describeType(type)}`);
  }

  /** Reads a string that has come before, as a rule: it is then the same one, and nothing is allocated. */
  readId(position: string): string {
    const end = this.#readStringHeader(position);
    const start = this.offset;
    this.offset = end;
    return ids.read(this.frame, this.#view, start, end);
  }

  /** Reads an integer or float; one beyond 2^53 becomes the nearest number. */
  readNumber(position: string): number {
    const type = this.#take(position);
    if (type <= 0x7f) return type;
    if (type >= 0xe0) return type - 0x100;
    const size = NUMBER_SIZES[type];
    if (size === undefined)
      throw new EngineCoreDecodeError(position, `must be a number, is ${describeType(type)}`);
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

  /** Passes over a whole value and returns its bytes, for the library, whose memory is bounded by how deep they nest. */
  take(position: string): Uint8Array {
    const start = this.offset;
    this.#skipNested(position, MAX_DEPTH);
    return this.frame.subarray(start, this.offset);
  }

  #skipNested(position: string, depth: number): void {
    const kind = this.kind(position);
    if (kind !== 'array' && kind !== 'map') {
      this.skip(position);
      return;
    }
    if (depth === 0) throw new EngineCoreDecodeError(position, `is nested deeper than ${MAX_DEPTH} levels`);
    const values = kind === 'array' ? this.readArrayLength(position) : 2 * this.#readMapLength(position);
    for (let value = 0; value < values; value += 1) this.#skipNested(position, depth - 1);
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

  /** Passes over a map, and tells whether it has this key. Allocates nothing. */
  skipMap(key: Uint8Array, position: string): boolean {
    let hasKey = false;
    const entries = this.#readMapLength(position);
    for (let entry = 0; entry < entries; entry += 1) {
      if (this.kind(position) === 'string') {
        const end = this.#readStringHeader(position);
        // Most keys differ in length, which saves a call out of JavaScript.
        const mayBe = end - this.offset === key.length;
        if (mayBe && this.frame.compare(key, 0, key.length, this.offset, end) === 0) hasKey = true;
        this.offset = end;
      } else this.skip(position);
      this.skip(position);
    }
    return hasKey;
  }

  /** Reads the header of a map: how many pairs it says follow. */
  #readMapLength(position: string): number {
    const type = this.#take(position);
    if (type >= 0x80 && type <= 0x8f) return type & 0x0f;
    if (type === 0xde) return this.#takeUint(2, position);
    if (type === 0xdf) return this.#takeUint(4, position);
    throw new EngineCoreDecodeError(position, `must be a map, is ${describeType(type)}`);
  }

  /** Reads the header of a string, whose bytes the cursor then stands before; returns where they end. */
  #readStringHeader(position: string): number {
    const type = this.#take(position);
    let length: number;
    if (type >= 0xa0 && type <= 0xbf) length = type & 0x1f;
    else if (type === 0xd9) length = this.#takeUint(1, position);
    else if (type === 0xda) length = this.#takeUint(2, position);
    else if (type === 0xdb) length = this.#takeUint(4, position);
    else throw new EngineCoreDecodeError(position, `must be a string, is ${describeType(type)}`);
    const end = this.offset + length;
    if (end > this.frame.length) throw truncated(position);
    return end;
  }

  /** Passes over what belongs to a type byte of variable size itself; returns how many values follow. */
  #skipBody(type: number, position: string): number {
    const lengthBytes = LENGTH_BYTES[type];
    if (lengthBytes === undefined) {
      throw new EngineCoreDecodeError(position, `is no MessagePack: type ${describeType(type)}`);
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

function truncated(position: string): EngineCoreDecodeError {
  return new EngineCoreDecodeError(position, 'the frame ends within it');
}
