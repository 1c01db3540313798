/**
 * The fields of one protobuf message by number, each with its values in order: length-delimited ones as bytes,
 * 64-bit ones as 8 bytes, varints as numbers.
 */
export class ProtobufFields {
  readonly #fields = new Map<number, (Buffer | number)[]>();

  constructor(message: Buffer) {
    let offset = 0;
    const varint = (): number => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = message.readUInt8(offset);
        offset += 1;
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
      }
    };
    const take = (length: number): Buffer => {
      offset += length;
      return message.subarray(offset - length, offset);
    };
    while (offset < message.length) {
      const tag = varint();
      const values = this.#fields.get(tag >>> 3) ?? [];
      this.#fields.set(tag >>> 3, values);
      const wireType = tag & 7;
      if (wireType === 0) values.push(varint());
      else if (wireType === 1) values.push(take(8));
      else if (wireType === 2) values.push(take(varint()));
      else throw new Error(`wire type ${wireType}`);
    }
  }

  messages(number: number): ProtobufFields[] {
    return this.#bytes(number).map((bytes) => new ProtobufFields(bytes));
  }

  text(number: number): string {
    return this.#bytes(number)[0]?.toString() ?? '';
  }

  number(number: number): number {
    const value = this.#fields.get(number)?.[0] ?? 0;
    if (typeof value !== 'number') throw new TypeError(`field ${number} is no varint`);
    return value;
  }

  /** Repeated or single `fixed64`, packed or not. */
  fixed64(number: number): number[] {
    return this.#eights(number).map((bytes) => Number(bytes.readBigUInt64LE()));
  }

  /** Repeated or single `double`, packed or not. */
  doubles(number: number): number[] {
    return this.#eights(number).map((bytes) => bytes.readDoubleLE());
  }

  #eights(number: number): Buffer[] {
    const bytes = Buffer.concat(this.#bytes(number));
    return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.subarray(index * 8, index * 8 + 8));
  }

  #bytes(number: number): Buffer[] {
    return (this.#fields.get(number) ?? []).map((value) => {
      if (typeof value === 'number') throw new TypeError(`field ${number} is a varint`);
      return value;
    });
  }
}
