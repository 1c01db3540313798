/** The command line asks for something that is not possible. The message is one line for the user. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
