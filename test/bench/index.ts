// npm run bench [-- OPTIONS]: measures this package beside the same work done otherwise.
//   --quick      some seconds, to see that everything runs and counts the same; no figures to quote
//   --only PART  one part alone: record, step, request, decode, growth, memory, scrape or log; may be repeated
//   --json FILE  writes the tables, and what they depend on, as JSON too
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Effort } from './candidate.ts';
import { compare } from './compare.ts';
import { environment } from './environment.ts';
import { memory } from './memory.ts';
import { scrape } from './scrape.ts';
import { statsLogTick } from './stats-log-tick.ts';
import { toJson, toText, type Table } from './table.ts';
import type { WorkName } from './works.ts';

type Measure = (effort: Effort) => Promise<Table>;

const parts: Readonly<Record<string, readonly Measure[]>> = {
  record: [comparing('record')],
  step: [comparing('step'), comparing('frames')],
  request: [comparing('request')],
  decode: [comparing('decode'), comparing('decodeLogprobs')],
  growth: [comparing('requestsInFlight'), comparing('requestsLookedUp'), comparing('engines')],
  memory: [memory],
  scrape: [scrape],
  log: [statsLogTick],
};

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
    json: { type: 'string' },
  },
});
const effort: Effort = options.quick
  ? { rounds: 3, scale: 0.05, apart: false }
  : { rounds: 15, scale: 1, apart: true };
const { cpu, cores, node, v8, packages } = environment();
const versions = Object.entries({ 'Node.js': node, V8: v8, ...packages });
console.log(`${cpu}, ${cores} cores; ${versions.map((version) => version.join(' ')).join(', ')}`);
console.log(`Medians of ${effort.rounds} rounds${options.quick ? ', quick: no figures to quote' : ''}\n`);

const tables: Table[] = [];
for (const name of options.only) {
  const measures = parts[name];
  if (measures === undefined)
    throw new TypeError(`--only takes ${Object.keys(parts).join(', ')}; got ${name}`);
  for (const measure of measures) {
    const table = await measure(effort);
    tables.push(table);
    console.log(toText(table));
  }
}
if (options.json !== undefined) {
  const report = { environment: environment(), effort, tables: tables.map(toJson) };
  writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
}

function comparing(work: WorkName): Measure {
  return (given) => compare(work, given);
}
