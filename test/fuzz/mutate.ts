import { encode, ExtData } from '@msgpack/msgpack';
import { LENGTH_BYTES } from '../../src/engine-core/message-pack-type.ts';
import type { Draw } from '../reference/draw.ts';
import { valuesOf, type Extent } from './values-of.ts';

/** What stands in nobody's message on purpose: one of every kind, and the ends of their ranges. */
const ODD: readonly Buffer[] = [
  null,
  true,
  0,
  -1,
  -(2n ** 63n),
  2n ** 53n,
  2n ** 64n - 1n,
  0.5,
  -0.5,
  Number.NaN,
  Infinity,
  -Infinity,
  Number.MAX_VALUE,
  '',
  'text',
  'ü'.repeat(200),
  new Uint8Array(3),
  [],
  [[[]]],
  {},
  { num_prompt_tokens: -1, length: 1, type: 3, data: {} },
  new ExtData(1, Uint8Array.of(0x4e, 0x2e)),
  new ExtData(-1, new Uint8Array(5)),
].map((value) => Buffer.from(encode(value, { useBigInt64: true })));

/** A frame like `frame` in all but one to four places. `other` gives parts to it. */
export function mutate(frame: Buffer, other: Buffer, draw: Draw): Buffer {
  let mutated = frame;
  const times = draw.chance(0.5) ? 1 : draw.whole(2, 4);
  for (let time = 0; time < times; time += 1) mutated = draw.pick(MUTATIONS)(mutated, other, draw);
  return mutated;
}

type Mutation = (frame: Buffer, other: Buffer, draw: Draw) => Buffer;

/** Those that leave the frame whole come three times: of the others, most is refused. */
const MUTATIONS: readonly Mutation[] = [
  turnBit,
  setByte,
  cutOff,
  append,
  takeOut,
  double,
  splice,
  lieAboutLength,
  replaceByOdd,
  replaceByOdd,
  replaceByOdd,
  replaceByOther,
  replaceByOther,
  replaceByOther,
];

function turnBit(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  if (frame.length === 0) return frame;
  const turned = Buffer.from(frame);
  turned[draw.whole(0, frame.length - 1)]! ^= 1 << draw.whole(0, 7);
  return turned;
}

function setByte(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  if (frame.length === 0) return frame;
  const set = Buffer.from(frame);
  // Most types with something behind them stand in the upper half.
  set[draw.whole(0, frame.length - 1)] = draw.whole(0x7f, 0xff);
  return set;
}

function cutOff(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  return frame.subarray(0, draw.whole(0, frame.length));
}

function append(frame: Buffer, other: Buffer, draw: Draw): Buffer {
  return Buffer.concat([frame, other.subarray(draw.whole(0, other.length))]);
}

function takeOut(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  const { start, end } = slice(frame, draw);
  return Buffer.concat([frame.subarray(0, start), frame.subarray(end)]);
}

function double(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  const { start, end } = slice(frame, draw);
  return Buffer.concat([frame.subarray(0, end), frame.subarray(start)]);
}

function splice(frame: Buffer, other: Buffer, draw: Draw): Buffer {
  return Buffer.concat([
    frame.subarray(0, draw.whole(0, frame.length)),
    other.subarray(draw.whole(0, other.length)),
  ]);
}

/** What holds something is made to say that it holds more or less. */
function lieAboutLength(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  const holders = valuesOf(frame).filter(({ start }) => {
    const type = frame[start]!;
    return (type >= 0x80 && type <= 0xbf) || type in LENGTH_BYTES;
  });
  if (holders.length === 0) return frame;
  const { start } = draw.pick(holders);
  const lie = Buffer.from(frame);
  const bytes = LENGTH_BYTES[lie[start]!] ?? 0;
  if (bytes > 0)
    lie.writeUIntBE(draw.pick([0, 1, 255, 2 ** (8 * bytes) - 1]) % 2 ** (8 * bytes), start + 1, bytes);
  else lie[start] = (lie[start]! & (lie[start]! < 0xa0 ? 0xf0 : 0xe0)) | draw.whole(0, 15);
  return lie;
}

function replaceByOdd(frame: Buffer, _other: Buffer, draw: Draw): Buffer {
  return replace(frame, draw.pick(ODD), draw);
}

function replaceByOther(frame: Buffer, other: Buffer, draw: Draw): Buffer {
  const values = valuesOf(other);
  if (values.length === 0) return frame;
  const { start, end } = draw.pick(values);
  return replace(frame, other.subarray(start, end), draw);
}

function replace(frame: Buffer, replacement: Buffer, draw: Draw): Buffer {
  const values = valuesOf(frame);
  if (values.length === 0) return frame;
  const { start, end } = draw.pick(values);
  return Buffer.concat([frame.subarray(0, start), replacement, frame.subarray(end)]);
}

/** Any part of a frame, most often a short one. */
function slice(frame: Buffer, draw: Draw): Extent {
  const start = draw.whole(0, frame.length);
  const end = Math.min(frame.length, start + draw.whole(0, draw.chance(0.7) ? 8 : frame.length));
  return { start, end };
}
