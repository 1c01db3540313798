import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import { Simulation } from '../../../examples/simulated-engine/simulation.ts';
import { countTokens } from '../../../examples/simulated-engine/token-sequence.ts';
import { parseTrace } from '../../../examples/simulated-engine/trace.ts';

const AZURE = 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n';
const MOONCAKE = '{"timestamp": 0, "input_length": 5, "output_length": 20, "hash_ids": [0]}\n';

describe('parseTrace', () => {
  it('knows the formats by how they begin', () => {
    expect(parseTrace(AZURE)).toMatchObject([{ outputTokens: 10 }]);
    expect(parseTrace(MOONCAKE)).toMatchObject([{ outputTokens: 20 }]);
  });
});

const fixtures = fileURLToPath(new URL('../../../../shared/fixtures/', import.meta.url));

/** Two engines with a cache in which the longest request has just a quarter to spare. */
const simulate = (file: string) => {
  const requests = parseTrace(readFileSync(fixtures + file, 'utf8'));
  const longest = Math.max(...requests.map(({ prompt, outputTokens }) => countTokens(prompt) + outputTokens));
  const kvBlocks = Math.ceil((longest * 1.25) / 16);
  const engines = [0, 1].map((index) => new SimulatedEngine({ index, kvBlocks, reserveFullPrompt: false }));
  const simulation = new Simulation({ engines, workload: requests });
  for (const event of simulation) void event;
  const { records } = simulation.log;
  return {
    requests: records.length,
    ended: records.filter(({ finishReason }) => finishReason === 'stop').length,
    promptTokens: records.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    generatedTokens: records.reduce((sum, { actual }) => sum + actual.generatedTokens, 0),
    cachedTokens: records.reduce((sum, { actual }) => sum + (actual.cachedTokens ?? 0), 0),
    preempted: records.filter(({ actual }) => actual.preemptions > 0).length,
  };
};

describe.skipIf(!existsSync(fixtures))(
  'real traces (skipped where they do not lie beside the checkout)',
  () => {
    it('serves the Azure code trace to the last token, with preemptions', () => {
      const { preempted, ...totals } = simulate('azure-llm-code-trace-head.csv');
      expect(totals).toEqual({
        requests: 196,
        ended: 196,
        promptTokens: 411_631,
        generatedTokens: 4861,
        cachedTokens: 0,
      });
      expect(preempted).toBeGreaterThan(10);
    });

    it('serves the Mooncake conversations to the last token, with preemptions and reused prefixes', () => {
      const { preempted, cachedTokens, ...totals } = simulate('mooncake-conversation-head.jsonl');
      expect(totals).toEqual({ requests: 75, ended: 75, promptTokens: 920_761, generatedTokens: 26_570 });
      expect(cachedTokens).toBeGreaterThan(20_000);
      expect(preempted).toBeGreaterThan(10);
    });
  },
);
