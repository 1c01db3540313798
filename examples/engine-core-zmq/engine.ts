// One simulated engine in a process of its own. Its frontend starts it, with its settings for an argument; it writes
// every message that it sends to its standard output, as a line of JSON, and ends when its standard input does.
import { SimulatedEngine } from '../simulated-engine/engine.ts';
import type { EngineProcessSettings } from './engine-process.ts';
import { serveEngine } from './serve-engine.ts';

const { index, kvBlocks, input, output } = JSON.parse(process.argv[2] ?? '') as EngineProcessSettings;
const blockSize = 16;
const engine = new SimulatedEngine({
  index,
  kvBlocks,
  blockSize,
  reserveFullPrompt: false, // preempts much where the cache is scarce, which is what there is to see
});

const stop = new AbortController();
process.stdin.on('end', () => stop.abort()).resume();
process.stdout.on('error', () => stop.abort());
// Ctrl-C reaches every process of a terminal. What it means for this one, the frontend decides.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => stop.abort());

try {
  await serveEngine({
    engine,
    ready: {
      max_model_len: engine.maxModelLen,
      num_gpu_blocks: kvBlocks,
      block_size: blockSize,
      vllm_version: 'simulated',
      data_parallel_rank: index,
    },
    input,
    output,
    onMessage: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
    signal: stop.signal,
  });
} catch (error) {
  process.stderr.write(`engine ${index}: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.stdin.destroy();
