import { formatBar } from './bar.ts';

/** What the progress line shows. */
export interface ProgressNumbers {
  /** 0 to 1. */
  readonly done: number;
  readonly simulatedSeconds: number;
  readonly running: number;
  readonly waiting: number;
  readonly preempted: number;
}

/** The part of a terminal that is needed here: `process.stderr` has it. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const REDRAW_MILLIS = 100;
const CLEAR_LINE = '\r\u001B[K';

/** One line on the terminal, redrawn in place. */
export class Progress {
  readonly #terminal: Terminal | undefined;
  readonly #now: () => number;
  #drawnAt = -Infinity;

  /**
   * @param terminal Where to draw. Nothing is drawn where it is no terminal, or is undefined.
   * @param now Milliseconds, monotonic.
   */
  constructor(terminal: Terminal | undefined, now: () => number = () => performance.now()) {
    this.#terminal = terminal?.isTTY === true ? terminal : undefined;
    this.#now = now;
  }

  /** Draws what `read` gives, unless the last time was only just before. */
  update(read: () => ProgressNumbers): void {
    if (this.#terminal === undefined || this.#now() - this.#drawnAt < REDRAW_MILLIS) return;
    this.#drawnAt = this.#now();
    // A line that wraps could not be redrawn.
    const width = (this.#terminal.columns || 80) - 1;
    this.#terminal.write(CLEAR_LINE + formatProgress(read()).slice(0, width));
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#drawnAt > -Infinity) this.#terminal?.write(CLEAR_LINE);
  }
}

/** The progress line. */
export function formatProgress(numbers: ProgressNumbers): string {
  const { done, simulatedSeconds, running, waiting, preempted } = numbers;
  const bar = formatBar(done, BAR_WIDTH).padEnd(BAR_WIDTH, '░');
  const percent = `${Math.floor(done * 100)} %`.padStart(5);
  const seconds = `${simulatedSeconds.toFixed(0)} s`.padStart(6);
  return `${bar}${percent}${seconds}   running ${running}   waiting ${waiting}   preempted ${preempted}`;
}
