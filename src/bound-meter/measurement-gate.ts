import { ValueType } from '@opentelemetry/api';
import { warn } from '../metrics/warn.ts';
import type { Descriptor } from './descriptor.ts';
import type { InstrumentKind } from './sdk-constants.ts';

/**
 * Why a measurement was dropped: `negative`, of an instrument that only counts up; `notFinite`, NaN or an infinity;
 * `notNumber`, a value of another type.
 */
export type DropReason = 'negative' | 'notFinite' | 'notNumber';

/** How many measurements were dropped, by reason. */
export type DropCounts = Record<DropReason, number>;

const COUNTS_UP: ReadonlySet<InstrumentKind> = new Set(['COUNTER', 'OBSERVABLE_COUNTER', 'HISTOGRAM']);

/**
 * Decides which measurements of one metric stream are aggregated. What is dropped is counted, leaves no other trace,
 * and is warned of through `diag` once per stream and reason.
 *
 * The specification leaves values that are not finite to the implementation ("Numerical limits handling" in the
 * metrics SDK). They are dropped: a single one would make a sum infinite or NaN for good.
 */
export class MeasurementGate {
  readonly #name: string;
  readonly #lowest: number;
  readonly #whole: boolean;
  readonly #dropped: DropCounts;
  readonly #warned = new Set<string>();

  /** @param dropped - Where drops are counted. */
  constructor({ name, type, valueType }: Descriptor, dropped: DropCounts) {
    this.#name = name;
    this.#lowest = COUNTS_UP.has(type) ? 0 : -Number.MAX_VALUE;
    this.#whole = valueType === ValueType.INT;
    this.#dropped = dropped;
  }

  /** Whether a measurement is aggregated as it is. No allocation, no look-up. */
  passes(value: number): boolean {
    return (
      typeof value === 'number' &&
      value >= this.#lowest &&
      value <= Number.MAX_VALUE &&
      (!this.#whole || Number.isInteger(value))
    );
  }

  /**
   * What is left of a measurement that does not pass: its whole part for `ValueType.INT`, or nothing.
   *
   * @param count - How many equal ones there are. Default: 1.
   */
  salvage(value: unknown, count = 1): number | undefined {
    if (typeof value !== 'number') return this.#drop('notNumber', value, count);
    if (!Number.isFinite(value)) return this.#drop('notFinite', value, count);
    if (value < this.#lowest) return this.#drop('negative', value, count);
    this.#warnOnce('fraction', `${value} is cut to a whole number, as its value type is INT`);
    return Math.trunc(value);
  }

  #drop(reason: DropReason, value: unknown, count: number): undefined {
    this.#dropped[reason] += count;
    // Any other value's own text may be of any length, or throw.
    const what = typeof value === 'number' ? String(value) : `a value of type ${typeof value}`;
    this.#warnOnce(reason, `${what} is dropped (${reason})`);
  }

  #warnOnce(key: string, what: string): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    warn(`metric ${this.#name}: ${what}; said once`);
  }
}
