// npm run fuzz [-- --seconds N] [-- --seed N]: decodes and observes mutated frames until the time is up.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { diag } from '@opentelemetry/api';
import { FuzzFailure, fuzzRound, type Outcomes } from './fuzz-round.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
});
const seconds = numberOf('--seconds', values.seconds);
const seed = numberOf('--seed', values.seed);

diag.disable();
const deadline = performance.now() + 1000 * seconds;
const total: Outcomes = { refused: 0, observed: 0, dropped: 0, dead: 0, collections: 0 };
let rounds = 0;
while (rounds === 0 || performance.now() < deadline) {
  await run(seed + rounds);
  rounds += 1;
}
report(`no fault in ${rounds} rounds, seeds ${seed} to ${seed + rounds - 1}`);

async function run(roundSeed: number): Promise<void> {
  try {
    add(await fuzzRound({ seed: roundSeed, collectEvery: 50 }));
  } catch (error) {
    if (!(error instanceof FuzzFailure)) throw error;
    const failure = await narrowed(roundSeed, error);
    report(`a fault after ${rounds} rounds without`);
    console.log(
      `${failure.message}\nframe: ${failure.frame.toString('hex')}\nto repeat: npm run fuzz -- --seed ${roundSeed}`,
    );
    process.exit(1);
  }
}

/** The same with a collection after each frame tells which frame it was. */
async function narrowed(roundSeed: number, failure: FuzzFailure): Promise<FuzzFailure> {
  try {
    await fuzzRound({ seed: roundSeed, collectEvery: 1 });
  } catch (error) {
    if (error instanceof FuzzFailure) return error;
  }
  return failure;
}

function add(outcomes: Outcomes): void {
  for (const outcome of Object.keys(outcomes) as (keyof Outcomes)[]) total[outcome] += outcomes[outcome];
}

function report(summary: string): void {
  const { refused, observed, dropped, dead, collections } = total;
  console.log(`${summary}
  ${refused + observed + dropped + dead} frames: ${refused} refused, ${observed} observed whole, ${dropped} observed in part, ${dead} of a dead engine
  ${collections} collections checked`);
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) {
    throw new TypeError(`${option} must be a whole number, got ${text}`);
  }
  return number;
}
