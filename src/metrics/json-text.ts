/**
 * The JSON text of an attribute's value, `''` of a function or symbol. What has none (cyclic objects, those with a bigint
 * inside or a `toJSON` that throws) does not throw: all such of one kind have the same text.
 */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return Object.prototype.toString.call(value);
  }
}
