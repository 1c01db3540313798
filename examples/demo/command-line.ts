import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './usage-error.ts';

type Definitions = NonNullable<ParseArgsConfig['options']>;
type Values<Options extends Definitions> = ReturnType<
  typeof parseArgs<{ args: string[]; strict: true; options: Options }>
>['values'];

/**
 * Reads a command line that may have these options and nothing else.
 *
 * @param args Without the program's name.
 * @throws UsageError naming an option that is not known, or lacks its value.
 */
export function parseCommandLine<const Options extends Definitions>(
  args: readonly string[],
  options: Options,
): Values<Options> {
  try {
    return parseArgs({ args: joinNegativeNumbers(args), strict: true, options }).values;
  } catch (error) {
    // Node explains at length; its first sentence names the option and says what is wrong.
    const [sentence = ''] = error instanceof Error ? error.message.split(/\.\s|\.$/) : [];
    throw new UsageError(`${sentence}; --help lists the options`);
  }
}

/** `--rate -5` as `--rate=-5`: for Node, what begins with a dash is an option. */
function joinNegativeNumbers(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const option = /^-[\d.]/.test(arg) ? joined.pop() : undefined;
    joined.push(option === undefined ? arg : `${option}=${arg}`);
  }
  return joined;
}

/** How a number may be written. */
interface NumberForm {
  readonly noun: string;
  readonly form: RegExp;
}

/** Digits alone. */
export const WHOLE: NumberForm = { noun: 'an integer', form: /^\d+$/ };

/** Digits, and a decimal point perhaps. */
export const ANY: NumberForm = { noun: 'a number', form: /^\d*\.?\d+$/ };

/**
 * The value of an option that is a number.
 *
 * @returns Undefined where the option is not given.
 * @throws UsageError where it is something else, or below `least` or above `most`.
 */
export function numberOf(
  name: string,
  text: string | undefined,
  { noun, form }: NumberForm,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!form.test(text) || value < least || value > most) {
    throw new UsageError(`--${name} must be ${noun} from ${least} to ${most}, got ${JSON.stringify(text)}`);
  }
  return value;
}
