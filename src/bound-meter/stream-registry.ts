import { warn } from '../metrics/warn.ts';
import type { MetricStream } from './collection.ts';
import { isIdentical, type Descriptor } from './descriptor.ts';

/**
 * The streams of one meter. Instruments that are identical share one; one that shares nothing but the name gets its
 * own, and a warning ("Duplicate instrument registration" in the specification's metrics SDK).
 */
export class StreamRegistry {
  readonly #byName = new Map<string, MetricStream[]>();

  /** The stream of what is described so; made where there is none. */
  resolve<Stream extends MetricStream>(descriptor: Descriptor, create: () => Stream): Stream {
    const key = descriptor.name.toLowerCase();
    const namesakes = this.#byName.get(key) ?? [];
    const identical = namesakes.find((stream) => isIdentical(stream.descriptor, descriptor));
    for (const { descriptor: existing } of namesakes) warnOfConflict(existing, descriptor);
    if (identical === undefined) {
      const created = create();
      this.#byName.set(key, [...namesakes, created]);
      return created;
    }
    if (descriptor.description.length > identical.descriptor.description.length) {
      identical.describe(descriptor.description);
    }
    // The same type of instrument has the same class of stream.
    return identical as Stream;
  }

  /** Every stream, those that are made meanwhile included. */
  *all(): Iterable<MetricStream> {
    for (const streams of this.#byName.values()) yield* streams;
  }
}

const COMPARED = ['name', 'type', 'unit', 'valueType', 'description', 'boundaries'] as const;

function warnOfConflict(existing: Descriptor, added: Descriptor): void {
  const differences = COMPARED.map((field) => [field, text(existing[field]), text(added[field])])
    .filter(([, one, other]) => one !== other)
    .map(([field, one, other]) => `${field} ${one} and ${other}`);
  if (differences.length === 0) return;
  const outcome = isIdentical(existing, added)
    ? 'they share one metric, with the first name and boundaries and the longer description'
    : 'both are exported; give one of them another name, by a View say';
  warn(`two instruments are named ${existing.name}, with ${differences.join(', ')}: ${outcome}`);
}

function text(value: Descriptor[keyof Descriptor]): string {
  return JSON.stringify(value ?? null);
}
