/** A message that is not what an engine sends. The message is lost whole; the next one is read as if nothing was. */
export class EngineCoreDecodeError extends Error {
  override readonly name = 'EngineCoreDecodeError';
  /** Where the message was wrong, in vLLM's terms: `outputs[3].finish_reason` for instance. */
  readonly position: string;
  /** What should have stood there, or what is wrong. */
  readonly expected: string;

  constructor(position: string, expected: string, options?: ErrorOptions) {
    super(`${position}: ${expected}`, options);
    this.position = position;
    this.expected = expected;
  }

  /**
   * The same error, seen from a larger part of the message. So that reading what is right costs no text, positions are
   * put together only here.
   */
  within(outer: string): EngineCoreDecodeError {
    const separator = this.position === '' || this.position.startsWith('[') ? '' : '.';
    return new EngineCoreDecodeError(`${outer}${separator}${this.position}`, this.expected, {
      cause: this.cause,
    });
  }
}
