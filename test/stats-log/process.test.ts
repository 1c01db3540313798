import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InstalledPackage } from '../package/installed-package.ts';

const NAME = 'opentelemetry-instrumentation-vllm';

let installed: InstalledPackage;
beforeAll(() => {
  installed = new InstalledPackage();
  installed.provide(['@opentelemetry/api']);
});
afterAll(() => installed.remove());

describe('a process with a stats log', () => {
  it.each([
    [
      'of an instrumentation',
      `new VllmInstrumentation({ modelName: 'm', statsLog: { logger, intervalMillis: 500 } }).engine(0)`,
    ],
    [
      'of its own',
      `new StatsLogger(new VllmInstrumentation({ modelName: 'm' }), { logger, intervalMillis: 500 })`,
    ],
  ])('%s ends when it has nothing else to do', (_, start) => {
    // One that the timer kept alive would come to its first line.
    const code = `
      const { VllmInstrumentation } = require('${NAME}');
      const { StatsLogger } = require('${NAME}/stats-log');
      const line = () => { console.log('kept alive'); process.exit(); };
      const logger = { info: line, debug: line };
      ${start};
      console.log('started');`;
    expect(installed.run('commonjs', code)).toBe('started\n');
  });

  it('gets its lines while something else keeps it alive, and its last one when it disables', () => {
    const code = `
      import { VllmInstrumentation } from '${NAME}';
      const busy = setInterval(() => {}, 1000);
      const lines = [];
      const logger = {
        debug: (line) => logger.info(line),
        info: (line) => {
          lines.push(line);
          if (lines.length === 2) clearInterval(busy);
          // Only a process that the timer keeps alive gets as far.
          if (lines.length === 20) process.exit();
        },
      };
      const vllm = new VllmInstrumentation({ modelName: 'm', statsLog: { logger, intervalMillis: 20 } });
      vllm.engine(0).startRequest();
      process.once('beforeExit', () => {
        vllm.engine(0).startRequest().recordTokens(1);
        vllm.disable();
        console.log(lines.length, lines.every((line) => line.startsWith('Avg prompt throughput: 0.0 tokens/s, ')));
      });`;
    expect(installed.run('module', code)).toBe('3 true\n');
  });
});
