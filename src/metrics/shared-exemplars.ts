import type { Attributes, Context } from '@opentelemetry/api';
import { BucketExemplars } from './bucket-exemplars.ts';
import { jsonText } from './json-text.ts';
import { sampledSpan } from './sampled-span.ts';

interface Shared {
  readonly exemplars: BucketExemplars;
  holders: number;
}

/** The place of the exemplars that are kept beside an instrument, the same for every copy of this package. */
const SHARED = Symbol.for('opentelemetry-instrumentation-vllm: exemplars of this process, version 1');

function shared(): Map<string, Shared> {
  const holder = globalThis as { [SHARED]?: Map<string, Shared> };
  return (holder[SHARED] ??= new Map());
}

/** What tells a histogram series from all others of this process: equal for attributes in any order. */
export function seriesKey(name: string, attributes: Attributes): string {
  return jsonText([name, Object.entries(attributes).sort(([left], [right]) => (left < right ? -1 : 1))]);
}

/** The exemplars of a series whose provider keeps none, if somebody holds them. */
export function exemplarsBeside(key: string): BucketExemplars | undefined {
  return shared().get(key)?.exemplars;
}

/**
 * Exemplars of a series whose provider keeps none, as OpenTelemetry's SDK does not: kept beside it in the process. Like
 * the SDK's histogram itself they are one for all who record into the series; the last who releases them drops them.
 */
export class SharedExemplars {
  readonly #key: string;
  readonly #boundaries: readonly number[];
  readonly #exemplars: BucketExemplars;

  /**
   * @param key - Of {@link seriesKey}.
   * @param boundaries - What the buckets to keep one for are told apart by. They need not be the provider's.
   */
  constructor(key: string, boundaries: readonly number[]) {
    this.#key = key;
    this.#boundaries = boundaries;
    const all = shared();
    const found = all.get(key) ?? { exemplars: new BucketExemplars(), holders: 0 };
    found.holders += 1;
    all.set(key, found);
    this.#exemplars = found.exemplars;
  }

  /** Keeps a value that a histogram takes, finite and not negative, where it was recorded in a sampled span. */
  offer(value: number, context: Context): void {
    const span = sampledSpan(context);
    if (span === undefined || !(value >= 0 && value < Infinity)) return;
    let bucket = 0;
    while (bucket < this.#boundaries.length && value > (this.#boundaries[bucket] as number)) bucket += 1;
    this.#exemplars.keep(bucket, value, span);
  }

  /** To be called once. */
  release(): void {
    const found = shared().get(this.#key);
    if (found === undefined) return;
    found.holders -= 1;
    if (found.holders === 0) shared().delete(this.#key);
  }
}
