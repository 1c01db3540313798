import { ExpositionWriter } from './exposition-writer.ts';

/** A writer that takes so many times more than was written in it is not worth keeping. */
const MAX_SPARE = 4;

/**
 * Keeps a writer from one scrape for the next, since memory that is fresh from the operating system costs more than what is
 * written into it. One, of at most some times the size of the last exposition.
 */
export class SpareWriter {
  #spare: ExpositionWriter | undefined;

  /** An empty writer: the spare one, or a new one where that is in use. */
  take(): ExpositionWriter {
    const writer = this.#spare ?? new ExpositionWriter();
    this.#spare = undefined;
    writer.clear();
    return writer;
  }

  /** Takes back a writer whose bytes nothing reads any more. */
  give(writer: ExpositionWriter): void {
    const isLarger = writer.capacity > (this.#spare?.capacity ?? 0);
    if (isLarger && writer.capacity <= MAX_SPARE * writer.length) this.#spare = writer;
  }
}
