// How does a TypeScript frontend measure vLLM engines? It takes the frames that they send off the socket. Here the
// engines are simulated, in processes of their own; `npm run example:zmq -- --help` lists the options.
import { constants } from 'node:os';
import { runExample } from './engine-core-zmq/run.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.exitCode = 128 + constants.signals[signal];
    interrupted.abort();
  });
}

// `npm run example:zmq | head` is no fault.
process.stdout.on('error', () => interrupted.abort());

const code = await runExample(process.argv.slice(2), {
  print: (text) => process.stdout.write(`${text}\n`),
  complain: (text) => process.stderr.write(`${text}\n`),
  interrupted: interrupted.signal,
});
process.exitCode ??= code;

/*
Expected output:
Engine 0 is ready: 256 KV blocks of 16 tokens, requests of up to 4,096 tokens
Scrape http://localhost:9464/metrics meanwhile

Preemptions per request (vllm:request_num_preemptions)

    0–1  <…> %
      2  <…> %
      3  <…> %
      4  <…> %
      5  <…> %
   6–10  <…> %
  11–20  <…> %
   > 20  <…> %

   mean <…>   p50 <…>   p90 <…>   p95 <…>   p99 <…>

Ended by   stop <…>
Tokens   prompt <…>   generated <…>
Prefix cache   <…> of <…> tokens found

The scrape and the simulator's own log agree: <…> requests, <…> preemptions
*/
