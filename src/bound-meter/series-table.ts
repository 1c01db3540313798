import type { Attributes } from '@opentelemetry/api';
import { AttributeMap, pathOf, type AttributePath } from './attribute-map.ts';

/** What is kept per attributes. */
export interface Attributed {
  /** A frozen copy of what was given, so that no later change of that object reaches the data. */
  readonly attributes: Attributes;
}

const NONE: Attributes = Object.freeze({});

/** The attributes of what does not fit ("Overflow attribute" in the specification's metrics SDK). */
const OVERFLOW: Attributes = Object.freeze({ 'otel.metric.overflow': true });

/**
 * The series of one metric stream, of which there are never more than a limit, and one more for the overflow: so many
 * distinct attributes are guaranteed not to overflow ("Overflow attribute" in the specification's metrics SDK). A
 * series holds its place until it is deleted, not until the next collection.
 */
export class SeriesTable<Series extends Attributed> {
  readonly #limit: number;
  readonly #create: (attributes: Attributes) => Series;
  readonly #onOverflow: () => void;
  readonly #byAttributes = new AttributeMap<Series>();
  /** By the very object, where it is one that cannot change: most callbacks have such, and pass it every time. */
  readonly #byObject = new WeakMap<Attributes, Series>();
  /** With the path that each was found by: the copy of its attributes need not say the same JSON as they did. */
  readonly #all = new Map<Series, AttributePath>();
  #overflow: Series | undefined;

  /**
   * @param limit - How many series there may be beside the overflow.
   * @param create - Makes a series of attributes that are frozen.
   * @param onOverflow - Called whenever something does not fit.
   */
  constructor(limit: number, create: (attributes: Attributes) => Series, onOverflow: () => void) {
    this.#limit = limit;
    this.#create = create;
    this.#onOverflow = onOverflow;
  }

  /** Every series, in the order of their making. One may be deleted on the way. */
  get all(): Iterable<Series> {
    return this.#all.keys();
  }

  /**
   * The series of these attributes, made where there is none yet; the overflow series where none fits any more.
   *
   * @param given - None where it is left out, no object, or has an accessor that throws.
   */
  resolve(given: Attributes | undefined): Series {
    const attributes = typeof given === 'object' && given !== null ? given : NONE;
    const known = this.#byObject.get(attributes);
    if (known !== undefined && this.#all.has(known)) return known;
    try {
      return this.#find(attributes);
    } catch {
      return this.#find(NONE);
    }
  }

  isOverflow(series: Series): boolean {
    return series === this.#overflow;
  }

  delete(series: Series): void {
    const path = this.#all.get(series);
    if (path === undefined) return;
    this.#all.delete(series);
    this.#byAttributes.delete(path);
    if (series === this.#overflow) this.#overflow = undefined;
  }

  #find(attributes: Attributes): Series {
    const path = pathOf(attributes);
    const series = this.#byAttributes.get(path) ?? this.#added(attributes, path);
    if (series === undefined) return (this.#overflow ??= this.#add(OVERFLOW, pathOf(OVERFLOW)));
    if (isFixed(attributes)) this.#byObject.set(attributes, series);
    return series;
  }

  /** A new series of these attributes, where it fits. */
  #added(attributes: Attributes, path: AttributePath): Series | undefined {
    if (isOverflowSet(attributes)) return undefined;
    const others = this.#overflow === undefined ? 0 : 1;
    if (this.#all.size - others < this.#limit) return this.#add(snapshot(attributes), path);
    this.#onOverflow();
    return undefined;
  }

  #add(attributes: Attributes, path: AttributePath): Series {
    const series = this.#create(attributes);
    this.#byAttributes.set(path, series);
    this.#all.set(series, path);
    return series;
  }
}

function isOverflowSet(attributes: Attributes): boolean {
  return attributes['otel.metric.overflow'] === true && Object.keys(attributes).length === 1;
}

/** Whether neither the object nor anything in it can change. */
function isFixed(attributes: Attributes): boolean {
  if (!Object.isFrozen(attributes)) return false;
  // An accessor, whose value may be another one each time, has a descriptor without one.
  const descriptors = Object.values(Object.getOwnPropertyDescriptors(attributes));
  return descriptors.every(({ value }) => value !== undefined && typeof value !== 'object');
}

function snapshot(attributes: Attributes): Attributes {
  const copy = { ...attributes };
  for (const [key, value] of Object.entries(copy)) {
    if (typeof value === 'object' && value !== null) copy[key] = copyOf(value);
  }
  return Object.freeze(copy);
}

function copyOf<Value extends object>(value: Value): Value {
  try {
    return structuredClone(value);
  } catch {
    // A function inside, which no exporter can write either.
    return value;
  }
}
