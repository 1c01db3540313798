import { describe, expect, it } from 'vitest';
import { Frontend } from '../../examples/demo/frontend.ts';
import { SimulatedEngine } from '../../examples/simulated-engine/engine.ts';
import { Random } from '../../examples/simulated-engine/random.ts';
import { Simulation } from '../../examples/simulated-engine/simulation.ts';
import { generateWorkload, withHangUps } from '../../examples/simulated-engine/workload.ts';
import { startService, type Service } from '../support/service.ts';
import { startLog } from './logged-service.ts';
import { RecordedLines } from './recorded-lines.ts';

const EPOCH = 1000;
const INTERVAL = 7;

/** Two engines short of memory under eight requests a second, for ten seconds: the same ones every time. */
function seededSimulation(): Simulation {
  const random = new Random(7);
  const requests = generateWorkload({ rate: 8, duration: 10, random: random.fork() });
  const workload = withHangUps(requests, 0.1, random.fork());
  const settings = { kvBlocks: 512, reserveFullPrompt: false };
  const engines = [0, 1].map((index) => new SimulatedEngine({ index, ...settings, clockOffset: index * 77 }));
  return new Simulation({ engines, workload });
}

/** Runs the simulation through an instrumentation, and prints every seven simulated seconds until all is quiet. */
function run(service: Service, log: () => void): Simulation {
  const { vllm, clock } = service;
  const simulation = seededSimulation();
  const frontend = new Frontend(vllm, EPOCH);
  let next = INTERVAL;
  const tick = (): void => {
    clock.wall = EPOCH + next;
    clock.monotonic = next;
    log();
    next += INTERVAL;
  };
  for (const event of simulation) {
    while (event.at >= next) tick();
    clock.wall = EPOCH + event.at;
    clock.monotonic = event.at;
    frontend.handle(event);
  }
  for (let round = 0; round < 3; round += 1) tick();
  return simulation;
}

function linesOf(options: Parameters<typeof startLog>[1]): readonly string[] {
  const service = startService();
  service.clock.monotonic = 0;
  const { log, lines } = startLog(service, options);
  run(service, () => log.log());
  return lines.take();
}

/** Level, engine, prompt and generation throughput, running, waiting, preemptions, KV cache usage, hit rate. */
type Line = readonly [
  level: 'info' | 'debug',
  engine: string,
  prompt: string,
  generation: string,
  running: number,
  waiting: number,
  preemptions: number,
  usage: string,
  hitRate: string,
];

/** On both engines together. */
const TOGETHER: readonly Line[] = [
  ['info', '', '3251.3', '1591.4', 18, 7, 0, '97.2', '4.4'],
  ['info', '', '1309.1', '1301.7', 9, 24, 8, '94.8', '1.0'],
  ['info', '', '1389.6', '1088.4', 3, 6, 12, '19.3', '1.3'],
  ['info', '', '106.7', '388.9', 1, 0, 3, '7.1', '48.5'],
  ['info', '', '0.0', '24.6', 0, 0, 0, '0.0', '0.0'],
  ['info', '', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
  ['debug', '', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
];

const PER_ENGINE: readonly Line[] = [
  ['info', 'Engine 000: ', '2002.0', '748.3', 8, 4, 0, '94.9', '5.8'],
  ['info', 'Engine 001: ', '1249.3', '843.1', 10, 3, 0, '99.4', '2.1'],
  ['info', 'Engine 000: ', '570.4', '644.9', 5, 12, 5, '92.4', '2.3'],
  ['info', 'Engine 001: ', '738.7', '656.9', 4, 12, 3, '97.3', '0.0'],
  ['info', 'Engine 000: ', '631.3', '630.6', 2, 0, 7, '26.2', '1.4'],
  ['info', 'Engine 001: ', '758.3', '457.9', 1, 6, 5, '12.5', '1.2'],
  ['info', 'Engine 000: ', '0.0', '112.4', 0, 0, 0, '0.0', '0.0'],
  ['info', 'Engine 001: ', '106.7', '276.4', 1, 0, 3, '14.3', '48.5'],
  ['info', 'Engine 000: ', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
  ['info', 'Engine 001: ', '0.0', '24.6', 0, 0, 0, '0.0', '0.0'],
  ['debug', 'Engine 000: ', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
  ['info', 'Engine 001: ', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
  ['debug', 'Engine 000: ', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
  ['debug', 'Engine 001: ', '0.0', '0.0', 0, 0, 0, '0.0', '0.0'],
];

function inPython(line: Line): string {
  const [level, engine, prompt, generation, running, waiting, preemptions, usage, hitRate] = line;
  const preempted = preemptions > 0 ? ` Preemptions: ${preemptions},` : '';
  return `${level}: ${engine}Avg prompt throughput: ${prompt} tokens/s, Avg generation throughput: ${generation} tokens/s, Running: ${running} reqs, Waiting: ${waiting} reqs,${preempted} GPU KV cache usage: ${usage}%, Prefix cache hit rate: ${hitRate}%`;
}

function inRust(line: Line): string {
  const [level, engine, prompt, generation, running, waiting, preemptions, usage, hitRate] = line;
  const preempted = preemptions > 0 ? ` Preemptions: ${preemptions},` : '';
  return `${level}: ${engine}Avg prompt tput: ${prompt} toks/s, Avg generation tput: ${generation} toks/s, Reqs Running: ${running}, Waiting: ${waiting},${preempted} GPU KV cache used: ${usage}%, Prefix cache hit rate: ${hitRate}%`;
}

describe('the lines on a seeded stream of simulated engines', () => {
  it('are these in the words of the Python frontend', () => {
    expect(linesOf({ style: 'python' })).toEqual(TOGETHER.map(inPython));
    expect(linesOf({ style: 'python', perEngine: true })).toEqual(PER_ENGINE.map(inPython));
  });

  it('are these in the words of the Rust frontend', () => {
    expect(linesOf({ style: 'rust' })).toEqual(TOGETHER.map(inRust));
    expect(linesOf({ style: 'rust', perEngine: true })).toEqual(PER_ENGINE.map(inRust));
  });

  it.each([false, true])(
    'add up to what the counters say and the simulator counted, per engine: %s',
    async (perEngine) => {
      const service = startService();
      service.clock.monotonic = 0;
      const lines = new RecordedLines();
      const { log } = startLog(service, { perEngine, logger: lines.asRecords() });
      const { records } = run(service, () => log.log()).log;
      const reading = await service.read();
      const counted = (name: string): number =>
        [0, 1].reduce((sum, engine) => sum + reading.value(name, { engine: String(engine) }), 0);
      const preemptions = sumOf(lines, (numbers) => numbers['vllm.stats.preemptions']!);
      expect(preemptions).toBe(counted('vllm:num_preemptions'));
      expect(preemptions).toBe(records.reduce((sum, { reported }) => sum + reported.preemptions, 0));
      expect(preemptions).toBeGreaterThan(10);
      const generated = sumOf(lines, (numbers) => numbers['vllm.stats.generation_tokens']!);
      expect(generated).toBe(counted('vllm:generation_tokens'));
      expect(generated).toBe(records.reduce((sum, { reported }) => sum + reported.generatedTokens, 0));
    },
  );
});

function sumOf(lines: RecordedLines, number: (numbers: Record<string, number>) => number): number {
  return lines.records.reduce((sum, { attributes }) => sum + number(attributes as Record<string, number>), 0);
}
