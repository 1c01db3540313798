import type { Drops } from '../metrics/drops.ts';
import type { Statistic } from './messages.ts';

/**
 * Reads statistics off the wire, where anything may stand anywhere: the one place where they are checked. What can't be
 * right is counted, and read as if it had not been sent.
 */
export class Statistics {
  readonly #drops: Drops;

  constructor(drops: Drops) {
    this.#drops = drops;
  }

  /** An amount to add: finite and not negative, 0 where it is missing or can't be right. */
  amount(name: string, value: Statistic | null | undefined): Statistic {
    if (value === undefined || value === null) return 0;
    if (isAmount(value)) return value;
    this.reject(name, value);
    return 0;
  }

  /** What to set a gauge to: 0 where it is missing, the wire's default; undefined where it can't be right. */
  level(name: string, value: Statistic | null | undefined): number | undefined {
    if (value === undefined || value === null) return 0;
    if (isAmount(value)) return Number(value);
    this.reject(name, value);
    return undefined;
  }

  /** A value to record in a histogram: finite and not negative, undefined where it is missing or can't be right. */
  sample(name: string, value: unknown): number | undefined {
    if (isAmount(value)) return Number(value);
    if (value !== undefined && value !== null) this.reject(name, value);
    return undefined;
  }

  /** The object; undefined where there is none, or something else. */
  object<T extends object>(name: string, value: T | null | undefined): T | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'object') return value;
    this.#drops.count('malformedMessage', value, name);
    return undefined;
  }

  /** The list; an empty one where there is none, or something else. */
  list<T>(name: string, value: readonly T[] | null | undefined): readonly T[] {
    if (Array.isArray(value)) return value as readonly T[];
    if (value !== undefined && value !== null) this.#drops.count('malformedMessage', value, name);
    return [];
  }

  /** Counts a value that can't be right. */
  reject(name: string, value: unknown): void {
    this.#drops.count('invalidValue', value, name);
  }
}

/** Whether it is not negative and no more than 64 bits can hold, so that sums stay finite. */
export function isAmount(value: unknown): value is Statistic {
  if (typeof value === 'bigint') return value >= 0n && value < MAX_INTEGER;
  return typeof value === 'number' && value >= 0 && value <= 2 ** 64;
}

/** No integer of the wire has more than 64 bits. */
const MAX_INTEGER = 2n ** 64n;

/** A list off the wire, if it is one. */
export type WireList = readonly Statistic[] | null | undefined;

/** The list; an empty one where it is none. Counts nothing: for what a recorder has counted already. */
export function listOf(values: WireList): readonly Statistic[] {
  return Array.isArray(values) ? (values as readonly Statistic[]) : NO_VALUES;
}

/** The amount as a number; 0 where it can't be right. Counts nothing: for what a recorder has counted already. */
export function amountOf(value: Statistic | null | undefined): number {
  return isAmount(value) ? Number(value) : 0;
}

const NO_VALUES: readonly Statistic[] = [];
