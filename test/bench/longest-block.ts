/** Watches how long the event loop is blocked: the longest time from one of its turns to the next. */
export class LongestBlock {
  #longest = 0;
  #lastTurn = performance.now();
  #watching = true;

  constructor() {
    setImmediate(() => this.#turn());
  }

  /** Ends the watch. Milliseconds. */
  stop(): number {
    this.#watching = false;
    this.#note();
    return this.#longest;
  }

  #turn(): void {
    this.#note();
    if (this.#watching) setImmediate(() => this.#turn());
  }

  #note(): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#lastTurn);
    this.#lastTurn = now;
  }
}
