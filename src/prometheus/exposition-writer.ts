import type { Exemplar } from '../metrics/bucket-exemplars.ts';
import { formatNumber } from './format-number.ts';
import { MAX_NUMBER_LENGTH, writeNumber } from './write-number.ts';

const INITIAL_CAPACITY = 16_384;
const LINE_FEED = 0x0a;

/** A number and a line feed. */
const MAX_VALUE_LENGTH = MAX_NUMBER_LENGTH + 1;

/**
 * An exposition under construction, written straight into bytes. Text that is the same in every scrape comes as bytes
 * and is copied, numbers become digits in place: a scrape makes no strings, which would be several times its size in garbage.
 */
export class ExpositionWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  #length = 0;

  /** How many bytes have been written. */
  get length(): number {
    return this.#length;
  }

  /** How many bytes there is room for. Where more are written, it doubles, and what has been written is copied. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** What has been written: the writer's own bytes, which stay as they are until it is written to again. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Makes it empty again, at its capacity. */
  clear(): void {
    this.#length = 0;
  }

  /** Writes text that is not kept as bytes. */
  text(text: string): void {
    this.#reserve(Buffer.byteLength(text));
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes the line of a sample: all before its value, then the value. */
  sample(head: Uint8Array, value: number): void {
    this.#reserve(head.length + MAX_VALUE_LENGTH);
    const bytes = this.#bytes;
    const offset = this.#length;
    bytes.set(head, offset);
    const end = writeNumber(bytes, offset + head.length, value);
    bytes[end] = LINE_FEED;
    this.#length = end + 1;
  }

  /** As {@link sample}, of which the part before the value is in two: that of all buckets, and that of this one. */
  bucket(head: Uint8Array, tail: Uint8Array, value: number): void {
    this.#reserve(head.length + tail.length + MAX_VALUE_LENGTH);
    const bytes = this.#bytes;
    const offset = this.#length;
    bytes.set(head, offset);
    bytes.set(tail, offset + head.length);
    const end = writeNumber(bytes, offset + head.length + tail.length, value);
    bytes[end] = LINE_FEED;
    this.#length = end + 1;
  }

  /** Adds an exemplar to the line written last. Its ids make it shorter than OpenMetrics' limit of 128 characters. */
  exemplar({ traceId, spanId, value, timeMillis }: Exemplar): void {
    this.#length -= 1;
    const time = (timeMillis / 1000).toFixed(3);
    this.text(` # {trace_id="${traceId}",span_id="${spanId}"} ${formatNumber(value)} ${time}\n`);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafeSlow(2 * needed);
    wider.set(this.written);
    this.#bytes = wider;
  }
}
