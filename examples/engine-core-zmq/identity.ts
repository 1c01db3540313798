/** The identity of an engine's DEALER socket: its index as two bytes, the low one first. */
export function identityOf(engine: number): string {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(engine);
  // The types of zeromq know identities that are text; the library takes bytes, and these are not always UTF-8.
  return bytes as unknown as string;
}
