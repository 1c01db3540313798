import { StartUpError } from './start-up-error.ts';

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's value without the space around it. Undefined where it is not set; set to nothing is not set. */
export function text(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * One of the allowed values, in any case.
 *
 * @throws StartUpError for another.
 */
export function choice<Value extends string>(
  env: Environment,
  name: string,
  allowed: readonly Value[],
): Value | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const chosen = allowed.find((candidate) => candidate === value.toLowerCase());
  if (chosen === undefined) throw wrong(name, allowed.join(', '), value);
  return chosen;
}

/**
 * Some of the allowed values in any case, with commas between; `none`, alone, is none of them.
 *
 * @throws StartUpError for other values.
 */
export function choices<Value extends string>(
  env: Environment,
  name: string,
  allowed: readonly Value[],
): ReadonlySet<Value> | undefined {
  const list = parts(env, name);
  if (list === undefined) return undefined;
  const names = list.map((part) => part.toLowerCase());
  if (names.length === 1 && names[0] === 'none') return new Set();
  const chosen = allowed.filter((candidate) => names.includes(candidate));
  if (!names.every((part) => chosen.some((candidate) => candidate === part))) {
    throw wrong(name, `none or a list of ${allowed.join(', ')} with commas between`, text(env, name));
  }
  return new Set(chosen);
}

/**
 * A whole number in decimal digits.
 *
 * @throws StartUpError for anything else, or a number out of bounds.
 */
export function wholeNumber(env: Environment, name: string, min: number, max: number): number | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw wrong(name, `a whole number from ${min} to ${max}`, value);
}

/**
 * A time of at least a millisecond.
 *
 * @throws StartUpError for anything else.
 */
export function milliseconds(env: Environment, name: string): number | undefined {
  // The longest delay of a Node.js timer: a longer one fires at once.
  return wholeNumber(env, name, 1, 2 ** 31 - 1);
}

/**
 * `key=value` pairs with commas between, percent-encoded.
 *
 * @throws StartUpError for what is none.
 */
export function pairs(env: Environment, name: string): Readonly<Record<string, string>> {
  const entries = (parts(env, name) ?? []).map((pair) => {
    const [, key, encoded] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? [];
    const value = encoded === undefined ? undefined : decode(encoded);
    if (key !== undefined && value !== undefined) return [key, value] as const;
    throw wrong(name, 'key=value pairs, percent-encoded, with commas between', text(env, name));
  });
  return Object.fromEntries(entries);
}

/** The error of a variable whose value is not what it may be. */
export function wrong(name: string, allowed: string, value: string | undefined): StartUpError {
  return new StartUpError(`${name} must be ${allowed}; got ${JSON.stringify(value)}`);
}

/** What is between the commas; undefined where there is nothing. */
function parts(env: Environment, name: string): readonly string[] | undefined {
  const list = (text(env, name)?.split(',') ?? []).map((part) => part.trim()).filter((part) => part !== '');
  return list.length === 0 ? undefined : list;
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
