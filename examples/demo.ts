// Simulated vLLM engines under load, seen through the instrumentation. `npm run demo -- --help` lists the options.
import { once } from 'node:events';
import { runDemo } from './demo/run.ts';

// `npm run demo | head` is no fault.
process.stdout.on('error', () => process.exit());

process.exitCode = await runDemo(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  terminal: process.env['CI'] ? undefined : process.stderr,
  async interrupted() {
    // Neither the metrics endpoint nor a signal handler keeps a process alive.
    const alive = setInterval(() => {}, 60_000);
    await once(process, 'SIGINT');
    clearInterval(alive);
  },
});
