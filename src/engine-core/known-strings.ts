/** Strings of other lengths, in bytes, are made anew each time. vLLM's request ids have some fifty. */
const MIN_BYTES = 4;
const MAX_BYTES = 64;

/** A power of two. Strings that fall into one slot push each other out, which takes time and no more. */
const SLOT_BITS = 13;

const WORDS_PER_SLOT = MAX_BYTES / 4;

/** One for each word, all odd: whichever byte differs, the topmost bits of the sum of products do. */
const MULTIPLIERS = new Int32Array(WORDS_PER_SLOT);
for (let word = 0, power = 1; word < WORDS_PER_SLOT; word += 1) {
  power = Math.imul(power, 0x9e3779b1);
  MULTIPLIERS[word] = power;
}

/**
 * Gives the same string for the same UTF-8 bytes, where these have come lately. An engine names the same requests in every
 * step: comparing bytes takes a fraction of the time of making a string, which would then have to be hashed or compared
 * to find its request.
 *
 * Takes half a megabyte, and a string for each slot in use, whatever comes.
 */
export class KnownStrings {
  readonly #words = new Int32Array(WORDS_PER_SLOT << SLOT_BITS);
  readonly #lengths = new Uint8Array(1 << SLOT_BITS);
  readonly #strings: string[] = Array.from({ length: 1 << SLOT_BITS }, () => '');

  /** The string of the bytes from `start` to `end`, which lie within the frame; `view` is of the same bytes. */
  read(frame: Buffer, view: DataView, start: number, end: number): string {
    const length = end - start;
    if (length < MIN_BYTES || length > MAX_BYTES) return frame.toString('utf8', start, end);
    const slot = slotOf(view, start, end);
    if (this.#lengths[slot] === length && this.#holds(slot, view, start, end)) {
      return this.#strings[slot] as string;
    }
    this.#lengths[slot] = length;
    this.#keep(slot, view, start, end);
    return (this.#strings[slot] = frame.toString('utf8', start, end));
  }

  #holds(slot: number, view: DataView, start: number, end: number): boolean {
    const words = this.#words;
    const last = end - 4;
    let word = slot * WORDS_PER_SLOT;
    for (let offset = start; offset < last; offset += 4, word += 1) {
      if (words[word] !== view.getInt32(offset)) return false;
    }
    return words[word] === view.getInt32(last);
  }

  /** In words, the last one of which reaches back to be whole. */
  #keep(slot: number, view: DataView, start: number, end: number): void {
    const words = this.#words;
    const last = end - 4;
    let word = slot * WORDS_PER_SLOT;
    for (let offset = start; offset < last; offset += 4, word += 1) words[word] = view.getInt32(offset);
    words[word] = view.getInt32(last);
  }
}

function slotOf(view: DataView, start: number, end: number): number {
  const last = end - 4;
  let word = 0;
  let sum = 0;
  for (let offset = start; offset < last; offset += 4, word += 1) {
    sum = (sum + Math.imul(view.getInt32(offset), MULTIPLIERS[word] as number)) | 0;
  }
  sum = (sum + Math.imul(view.getInt32(last), MULTIPLIERS[word] as number)) | 0;
  return sum >>> (32 - SLOT_BITS);
}
