import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { ExpositionFormat } from './exposition-format.ts';
import type { MetricFamily } from './metric-family.ts';
import { renderExposition } from './render-exposition.ts';

const compress = promisify(gzip);

/** What one collection gave, rendered at most once per format and encoding, however many scrapes share it. */
export class Exposition {
  readonly #families: readonly MetricFamily[];
  readonly #onDuplicate: (family: string) => void;
  readonly #plain = new Map<ExpositionFormat, Promise<Buffer>>();
  readonly #zipped = new Map<ExpositionFormat, Promise<Buffer>>();

  constructor(families: readonly MetricFamily[], onDuplicate: (family: string) => void) {
    this.#families = families;
    this.#onDuplicate = onDuplicate;
  }

  plain(format: ExpositionFormat): Promise<Buffer> {
    let body = this.#plain.get(format);
    if (body === undefined) {
      body = renderExposition(this.#families, format, this.#onDuplicate);
      this.#plain.set(format, body);
    }
    return body;
  }

  /**
   * As {@link plain}, compressed in zlib's thread pool. The fastest level: on exposition text the default takes three
   * times as long, in a process that has better things to do, for a sixth less.
   */
  zipped(format: ExpositionFormat): Promise<Buffer> {
    let body = this.#zipped.get(format);
    if (body === undefined) {
      body = this.plain(format).then((text) => compress(text, { level: constants.Z_BEST_SPEED }));
      this.#zipped.set(format, body);
    }
    return body;
  }
}
