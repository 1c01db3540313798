// npm run bench [-- --quick]: times this package beside the same work done otherwise.
import { decodeCandidates } from './decode.ts';
import { compare, toTable } from './harness.ts';
import { wholeRequestCandidates } from './whole-request.ts';

const quick = process.argv.includes('--quick');
const effort = quick ? { rounds: 3, unitsPerRound: 50 } : { rounds: 21, unitsPerRound: 500 };

console.log(`Node ${process.version}, medians of ${effort.rounds} rounds of ${effort.unitsPerRound} each`);
for (const [title, candidates] of [
  ['One request, 256 tokens, 2 preemptions, non-recording span', wholeRequestCandidates()],
  ['Decoding a step of 256 outputs', decodeCandidates(0)],
  ['Decoding a step of 256 outputs with 20 log probabilities each', decodeCandidates(20)],
] as const) {
  console.log(toTable(title, await compare(candidates, effort)));
}
