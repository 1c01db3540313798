import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { ExpositionFormat } from './exposition-format.ts';
import type { ExpositionWriter } from './exposition-writer.ts';
import type { MetricFamily } from './metric-family.ts';
import { renderExposition } from './render-exposition.ts';
import type { SpareWriter } from './spare-writer.ts';

const compress = promisify(gzip);

interface Rendering {
  readonly writer: ExpositionWriter;
  readonly plain: Promise<Buffer>;
  borrowers: number;
}

/** What one collection gave, rendered at most once per format and encoding, however many scrapes share it. */
export class Exposition {
  readonly #families: readonly MetricFamily[];
  readonly #spare: SpareWriter;
  readonly #onDuplicate: (family: string) => void;
  readonly #renderings = new Map<ExpositionFormat, Rendering>();
  readonly #zipped = new Map<ExpositionFormat, Promise<Buffer>>();

  /** @param onDuplicate - As in {@link renderExposition}. */
  constructor(families: readonly MetricFamily[], spare: SpareWriter, onDuplicate: (family: string) => void) {
    this.#families = families;
    this.#spare = spare;
    this.#onDuplicate = onDuplicate;
  }

  /**
   * Lends the exposition in a format, which a later one is written over: nothing may read it once `use` has resolved.
   * Where `use` rejects, something may still do so; then it is left to the garbage collector.
   */
  async lend(format: ExpositionFormat, use: (plain: Buffer) => Promise<void>): Promise<void> {
    const rendering = this.#renderings.get(format) ?? this.#render(format);
    rendering.borrowers += 1;
    await use(await rendering.plain);
    rendering.borrowers -= 1;
    if (rendering.borrowers > 0) return;
    this.#renderings.delete(format);
    this.#spare.give(rendering.writer);
  }

  /**
   * What is lent, compressed in zlib's thread pool. The fastest level: on exposition text the default takes three
   * times as long, in a process that has better things to do, for a sixth less.
   */
  zip(format: ExpositionFormat, plain: Buffer): Promise<Buffer> {
    let zipped = this.#zipped.get(format);
    if (zipped === undefined) {
      zipped = compress(plain, { level: constants.Z_BEST_SPEED });
      this.#zipped.set(format, zipped);
    }
    return zipped;
  }

  #render(format: ExpositionFormat): Rendering {
    const writer = this.#spare.take();
    const plain = renderExposition(this.#families, format, writer, this.#onDuplicate);
    const rendering: Rendering = { writer, plain, borrowers: 0 };
    this.#renderings.set(format, rendering);
    return rendering;
  }
}
