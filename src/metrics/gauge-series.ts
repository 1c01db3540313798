import type { SeriesAttributes } from './series-attributes.ts';

/** A gauge with fixed attributes: a plain number that is read at collection. */
export class GaugeSeries {
  readonly attributes: SeriesAttributes;
  /** The current value. */
  value = 0;

  constructor(attributes: SeriesAttributes) {
    this.attributes = attributes;
  }

  /** @param value - Undefined, for one that could not be read, leaves the last one. */
  set(value: number | undefined): void {
    if (value !== undefined) this.value = value;
  }
}
