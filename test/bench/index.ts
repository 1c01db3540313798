// npm run bench [-- --quick]: times this package beside the same records made by hand.
import { compare, toTable } from './harness.ts';
import { wholeRequestCandidates } from './whole-request.ts';

const quick = process.argv.includes('--quick');
const effort = quick ? { rounds: 3, unitsPerRound: 50 } : { rounds: 21, unitsPerRound: 500 };

const timings = await compare(wholeRequestCandidates(), effort);
console.log(`Node ${process.version}, median of ${effort.rounds} rounds of ${effort.unitsPerRound} requests`);
console.log(toTable('One request, 256 tokens, 2 preemptions, non-recording span', timings));
