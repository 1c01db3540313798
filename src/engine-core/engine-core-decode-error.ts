/** A message that is not what an engine sends. The message is lost whole; the next one is read as if nothing was. */
export class EngineCoreDecodeError extends Error {
  override readonly name = 'EngineCoreDecodeError';
  /** Where the message was wrong, in vLLM's terms: `outputs[3].finish_reason` for instance. */
  readonly position: string;

  /** @param expected - What should have stood there, or what is wrong. */
  constructor(position: string, expected: string, options?: ErrorOptions) {
    super(`${position}: ${expected}`, options);
    this.position = position;
  }
}
