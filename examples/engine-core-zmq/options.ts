import { ANY, numberOf, parseCommandLine, WHOLE } from '../demo/command-line.ts';

/** What the example is asked to do. */
export interface ExampleOptions {
  readonly engines: number;
  readonly kvBlocks: number;
  /** Requests per second. */
  readonly rate: number;
  /** Seconds during which requests arrive. */
  readonly duration: number;
  /** Share of the clients that lose patience, 0 to 1. */
  readonly abortShare: number;
  readonly seed: number;
  readonly port: number;
}

/** What `--help` prints. */
export const HELP = `Usage: npm run example:zmq -- [options]

A frontend in this process and simulated vLLM engines in others, which talk as vLLM's own do:
ROUTER and DEALER, PUSH and PULL sockets of ZeroMQ, MessagePack frames in between.

  --engines N         engine processes, 1 to 64 (default 1)
  --kv-blocks N       blocks of 16 tokens in each engine's KV cache, at least 16 (default 256)
  --rate R            requests per second (default 40)
  --duration SECONDS  how long requests arrive (default 2)
  --abort-share F     share of clients that lose patience, 0 to 1 (default 0.1)
  --seed N            seed of the requests (default 1)
  --port N            port of the Prometheus endpoint, 0 for any free one (default 9464)
  --help              print this`;

const TEXT = { type: 'string' } as const;

/**
 * Reads the command line.
 *
 * @param args Without the program's name.
 * @returns The options, or `help` where that is asked for.
 * @throws UsageError naming the option, what it may be, and what came.
 */
export function parseOptions(args: readonly string[]): ExampleOptions | 'help' {
  const values = parseCommandLine(args, {
    engines: TEXT,
    'kv-blocks': TEXT,
    rate: TEXT,
    duration: TEXT,
    'abort-share': TEXT,
    seed: TEXT,
    port: TEXT,
    help: { type: 'boolean' },
  });
  if (values.help === true) return 'help';
  return {
    engines: numberOf('engines', values.engines, WHOLE, 1, 64) ?? 1,
    kvBlocks: numberOf('kv-blocks', values['kv-blocks'], WHOLE, 16, 1_000_000) ?? 256,
    rate: numberOf('rate', values.rate, ANY, 0.001, 10_000) ?? 40,
    duration: numberOf('duration', values.duration, ANY, 0.001, 1_000_000) ?? 2,
    abortShare: numberOf('abort-share', values['abort-share'], ANY, 0, 1) ?? 0.1,
    seed: numberOf('seed', values.seed, WHOLE, 0, Number.MAX_SAFE_INTEGER) ?? 1,
    port: numberOf('port', values.port, WHOLE, 0, 65_535) ?? 9464,
  };
}
