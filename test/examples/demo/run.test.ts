import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HELP } from '../../../examples/demo/options.ts';
import { Wire } from '../../../examples/demo/wire.ts';
import { runDemo, type Surroundings } from '../../../examples/demo/run.ts';

const SMALL = '--duration 20 --rate 8 --kv-blocks 256 --engines 2 --time-scale 1000000 --port 0';

const folder = mkdtempSync(join(tmpdir(), 'vllm-demo-'));
afterAll(() => rmSync(folder, { recursive: true }));

const writeTrace = (text: string): string => {
  const path = join(folder, 'trace');
  writeFileSync(path, text);
  return path;
};

interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly complaints: readonly string[];
  /** What the endpoint said while the demo went on serving. */
  readonly metrics: string;
}

/** Runs the demo, without the stats log unless that is asked for. */
const run = async (line: string, more: Partial<Surroundings> = {}): Promise<Outcome> => {
  const printed: string[] = [];
  const complaints: string[] = [];
  let metrics = '';
  const args = line.split(' ');
  const code = await runDemo(line.includes('--log') ? args : ['--log', 'off', ...args], {
    print: (text) => printed.push(text),
    complain: (text) => complaints.push(text),
    terminal: undefined,
    async interrupted() {
      const [url = ''] = /http\S+/.exec(printed.at(-1) ?? '') ?? [];
      metrics = await (await fetch(url)).text();
    },
    ...more,
  });
  const output = printed.join('\n').replace(/localhost:\d+\/metrics/, 'localhost:PORT/metrics');
  return { code, output, complaints, metrics };
};

/** The `_sum` of a histogram that has one series. */
const sumIn = (metrics: string, name: string): number =>
  Number(new RegExp(`^vllm:${name}_sum.* (\\S+)$`, 'm').exec(metrics)?.[1]);

/** A server that answers every request with this status, while `use` runs. */
const withReceiver = async (
  status: number,
  use: (url: string) => Promise<void>,
): Promise<{ readonly requests: readonly string[] }> => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.writeHead(status).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  await use(`http://localhost:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { requests };
};

describe('the demo', () => {
  it('prints the preemption histogram from its own endpoint, and agrees with the simulator about it', async () => {
    const { code, output, complaints } = await run(SMALL);
    expect(output).toMatchInlineSnapshot(`
      "135 requests to 2 simulated engines, each with 256 KV blocks of 16 tokens

      Preemptions per request (vllm:request_num_preemptions)

          0–1  ████████████████████████████████████████     120   89.6 %
            2  ████                                          12    9.0 %
            3  ▋                                              2    1.5 %
            4                                                 0    0.0 %
            5                                                 0    0.0 %
         6–10                                                 0    0.0 %
        11–20                                                 0    0.0 %
         > 20                                                 0    0.0 %

         mean 0.54   p50 ≤ 1   p90 ≤ 2   p95 ≤ 2   p99 ≤ 3

      Worst requests

         request       engine   preemptions   prompt   generated   end to end   ended by
         request-118        0             3      660         277       18.8 s       stop
         request-75         0             3    1,005         241       14.2 s       stop
         request-122        1             2      655         532       26.5 s       stop
         request-96         1             2      157         575       24.2 s       stop
         request-88         1             2      741         763       23.1 s       stop

      Ended by   stop 114   abort 12   length 8
      Turned away   1 prompt too long for the KV cache
      Not told   1 preemption of clients that left before the next output

      The scrape and the simulator's own log agree: 134 requests, 72 preemptions
      Scraped http://localhost:PORT/metrics; --serve keeps it up"
    `);
    expect([code, complaints]).toEqual([0, []]);
  });

  it('prints the same for the same seed, and something else for another', async () => {
    const { output } = await run(SMALL);
    expect((await run(`${SMALL} --seed 1`)).output).toBe(output);
    expect((await run(`${SMALL} --seed 2`)).output).not.toBe(output);
  });

  it('gives the same scrape where every message goes through frames and ZeroMQ', async () => {
    // So that the simulation begins at the same time twice.
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const typed = await run(`${SMALL} --serve`);
    expect(typed.metrics).toContain('vllm:num_preemptions_total{engine="1",model_name="simulated-8b"} 41.0');
    const carry = vi.spyOn(Wire.prototype, 'carry');
    expect(await run(`${SMALL} --serve --wire`)).toEqual(typed);
    expect(carry).toHaveBeenCalledTimes(9983); // as many messages as the two engines send
  });

  it('says what to install where --wire finds no ZeroMQ, and asks for none without', async () => {
    const loadWire = () => Promise.reject(new Error("Cannot find package 'zeromq'\nimported from here"));
    expect(await run(`${SMALL} --wire`, { loadWire })).toMatchObject({
      code: 2,
      output: '',
      complaints: ["--wire needs the packages zeromq and @msgpack/msgpack (Cannot find package 'zeromq')"],
    });
    expect(await run(SMALL, { loadWire })).toMatchObject({ code: 0, complaints: [] });
  });

  it('records the latencies of simulated time, however fast it runs', async () => {
    const trace = writeTrace(
      '{"timestamp": 0, "input_length": 512, "output_length": 1000, "hash_ids": [0]}\n',
    );
    const { metrics } = await run(
      `--trace ${trace} --engines 1 --abort-share 0 --time-scale 1000000 --port 0 --serve`,
    );
    // A prefill step of 28.5 ms, half a millisecond of transit, 999 decode steps of 8.1 ms.
    expect(sumIn(metrics, 'time_to_first_token_seconds')).toBeCloseTo(0.029, 4);
    expect(sumIn(metrics, 'e2e_request_latency_seconds')).toBeCloseTo(8.1214, 4);
    expect(sumIn(metrics, 'request_decode_time_seconds')).toBeCloseTo(8.0924, 4);
    expect(sumIn(metrics, 'request_prompt_tokens')).toBe(512);
    expect(sumIn(metrics, 'request_generation_tokens')).toBe(1000);
  });

  it('records an aborted request up to the simulated time at which its client left', async () => {
    const trace = writeTrace('{"timestamp": 0, "input_length": 1, "output_length": 1000, "hash_ids": [0]}\n');
    const { metrics, output } = await run(
      `--trace ${trace} --engines 1 --abort-share 1 --time-scale 1000000 --port 0 --serve`,
    );
    expect(output).toContain('Ended by   abort 1');
    // With this seed the client leaves 82 ms after its 790th token: 790 steps of 8.1 ms, and the transit.
    expect(sumIn(metrics, 'e2e_request_latency_seconds')).toBeCloseTo(6.4622, 4);
  });

  it('keeps the endpoint up until it is interrupted where it is told to', async () => {
    const { code, output, metrics } = await run(`${SMALL} --serve`);
    expect(output.split('\n').at(-1)).toBe('Scrape http://localhost:PORT/metrics until Ctrl-C');
    expect(metrics).toContain('vllm:request_num_preemptions_bucket');
    expect(code).toBe(0);
  });

  it.each([
    [
      'python',
      /^Avg prompt throughput: (\S+) tokens\/s, Avg generation throughput: (\S+) tokens\/s, Running: /,
    ],
    ['rust', /^Avg prompt tput: (\S+) toks\/s, Avg generation tput: (\S+) toks\/s, Reqs Running: /],
  ])('prints the stats log, %s, for every ten simulated seconds, each with tokens', async (style, form) => {
    const { code, output } = await run(`--duration 30 --port 0 --log ${style}`);
    const lines = output.split('\n').filter((line) => form.test(line));
    expect(code).toBe(0);
    expect(lines.length).toBeGreaterThanOrEqual(3);
    const rates = lines.slice(0, 3).map((line) => Number(form.exec(line)?.[2]));
    expect(rates.every((rate) => rate > 0)).toBe(true);
  });

  it('says how many prompts were too long for the cache', async () => {
    const row = (tokens: number): string => `2023-11-16 18:17:03.0,${tokens},3`;
    const trace = writeTrace(
      ['TIMESTAMP,ContextTokens,GeneratedTokens', row(10), row(5000), row(9000)].join('\n'),
    );
    const { code, output } = await run(`--trace ${trace} --kv-blocks 64 --port 0 --abort-share 0`);
    expect(output).toContain('3 requests to 2 simulated engines, each with 64 KV blocks of 16 tokens');
    expect(output).toContain('Ended by   stop 1\nTurned away   2 prompts too long for the KV cache');
    expect(code).toBe(0);
  });

  it('gives a trace a cache that holds its longest request and a quarter more, and stops after --duration', async () => {
    const row = (second: number): string => `2023-11-16 18:17:0${second}.0,1500,100`;
    const trace = writeTrace(['TIMESTAMP,ContextTokens,GeneratedTokens', row(0), row(1), row(2)].join('\n'));
    const { output } = await run(`--trace ${trace} --duration 2 --port 0 --abort-share 0`);
    expect(output).toContain('2 requests to 2 simulated engines, each with 125 KV blocks of 16 tokens');
  });

  it('exports to an OTLP receiver too', async () => {
    const { requests } = await withReceiver(200, async (url) => {
      const { code, output } = await run(`${SMALL} --otlp ${url}/`);
      expect(output).toContain(`\nExported to ${url}/\n`);
      expect(code).toBe(0);
    });
    expect(requests.length).toBeGreaterThan(0);
    expect(new Set(requests)).toEqual(new Set(['POST /v1/metrics']));
  });

  it('fails where the OTLP receiver does not take what it is sent', async () => {
    await withReceiver(400, async (url) => {
      const { code, output } = await run(`${SMALL} --otlp ${url}`);
      expect(output).toContain(`\nCould not export to ${url}: `);
      expect(code).toBe(1);
    });
  });

  it('prints its help', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, output: HELP });
  });
});

describe('a command line that asks for something impossible', () => {
  const refused = async (line: string): Promise<string> => {
    const { code, output, complaints } = await run(line);
    expect([code, output, complaints.length]).toEqual([2, '', 1]);
    expect(complaints[0]).not.toContain('\n');
    return complaints[0]!;
  };

  it('ends with code 2 and one line', async () => {
    expect(await refused('--rate 0')).toBe('--rate must be a number from 0.001 to 10000, got "0"');
  });

  it('names the file and the line of a malformed trace', async () => {
    const path = writeTrace('TIMESTAMP,ContextTokens,GeneratedTokens\nnonsense\n');
    expect(await refused(`--trace ${path}`)).toBe(
      `--trace: ${path}, line 2: expected a row like 2023-11-16 18:17:03.9799600,4808,10`,
    );
  });

  it('names a file that cannot be read', async () => {
    expect(await refused(`--trace ${folder}/missing`)).toContain(
      `--trace: cannot read ${folder}/missing: ENOENT`,
    );
  });

  it('names a port that is taken', async () => {
    await withReceiver(200, async (url) => {
      const { port } = new URL(url);
      const complaint = await refused(`${SMALL} --port ${port}`);
      expect(complaint).toMatch(
        new RegExp(`^--port: cannot listen on ${port} \\(.*EADDRINUSE.*\\); 0 takes any free port$`),
      );
    });
  });
});
