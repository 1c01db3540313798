/** What kind of value a type byte begins, as far as the decoder needs to tell. */
export type ValueKind = 'nil' | 'number' | 'string' | 'array' | 'map' | 'other';

/** The type byte that is a nil. */
export const NIL = 0xc0;

/** Sizes in bytes of what follows the type byte of a number. */
export const NUMBER_SIZES: Readonly<Record<number, number>> = {
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
export const FIXED_SIZES: Int8Array = Int8Array.from({ length: 0x20 }, (_, low) => {
  const type = 0xc0 + low;
  if (type === NIL || type === 0xc2 || type === 0xc3) return 0;
  if (type >= 0xd4 && type <= 0xd8) return 1 + 2 ** (type - 0xd4);
  return NUMBER_SIZES[type] ?? -1;
});

/** How many bytes the length takes, for types that have one: bin, ext, str, array, map. */
export const LENGTH_BYTES: Readonly<Record<number, number>> = {
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

/** The kind of value that a type byte begins. */
export function kindOf(type: number): ValueKind {
  if (type <= 0x7f || type >= 0xe0) return 'number';
  if (type <= 0x8f || type >= 0xde) return 'map';
  if (type <= 0x9f || type >= 0xdc) return 'array';
  if (type <= 0xbf || type >= 0xd9) return 'string';
  if (type === NIL) return 'nil';
  return type >= 0xca && type <= 0xd3 ? 'number' : 'other';
}

/** A type byte, for an error. */
export function describeType(type: number): string {
  const kind = kindOf(type);
  return kind === 'other' ? `0x${type.toString(16)}` : kind;
}
