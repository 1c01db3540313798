import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasProgram } from '../support/has-program.ts';

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Debian's interpreter, the one that its package `python3-msgpack` is for. */
const PYTHON = '/usr/bin/python3';

/** Whether the encoder of `frames.py` is there. */
export const hasEncoder: boolean = hasProgram(
  PYTHON,
  ['-c', 'import msgpack'],
  'Debian package python3-msgpack',
);

/** The text of `frames.hex`, as `frames.py` prints it now. */
export function encodeFrames(): string {
  return spawnSync(PYTHON, [file('frames.py')], { encoding: 'utf8' }).stdout;
}

/** The text of `frames.hex`, as it is checked in. */
export const FRAMES_TEXT: string = readFileSync(file('frames.hex'), 'utf8');

/** The frames of `frames.hex`, by title. */
export const FRAMES: ReadonlyMap<string, Buffer> = new Map(
  FRAMES_TEXT.split(/^= /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...lines] = text.split('\n');
      return [title, fromHex(lines)];
    }),
);

/** The bytes of hexadecimal lines; what stands behind a semicolon says what they are. */
export function fromHex(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => line.replace(/;.*/, '').replaceAll(/\s/g, '')).join(''), 'hex');
}
