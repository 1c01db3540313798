/** Why nothing can be started, in one line for whoever started the process. */
export class StartUpError extends Error {
  override readonly name = 'StartUpError';
}
