import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/**
 * Calls back whenever nothing has happened for a while. The timer holds neither the process nor the context of
 * whoever started it.
 */
export class IdleGuard {
  readonly #idleMillis: number;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param idleMillis - How long a while is; 0 for never. */
  constructor(idleMillis: number, onIdle: () => void) {
    this.#idleMillis = idleMillis;
    this.#onIdle = onIdle;
  }

  start(): void {
    if (this.#idleMillis === 0) return;
    this.#timer = context.with(ROOT_CONTEXT, () => setInterval(this.#onIdle, this.#idleMillis));
    this.#timer.unref();
  }

  /** Something has happened: the while starts anew. */
  touch(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
