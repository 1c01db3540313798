import { ANY, numberOf, parseCommandLine, WHOLE } from './command-line.ts';
import { UsageError } from './usage-error.ts';

/** What the demo is asked to do. */
export interface DemoOptions {
  readonly engines: number;
  /** Undefined: chosen to suit the workload. */
  readonly kvBlocks: number | undefined;
  /** Requests per second. */
  readonly rate: number;
  /** Simulated seconds during which requests arrive. Undefined: 120, or the whole trace. */
  readonly duration: number | undefined;
  /** Simulated seconds per second. Undefined: chosen so that the run soon ends. */
  readonly timeScale: number | undefined;
  /** Share of the clients that lose patience, 0 to 1. */
  readonly abortShare: number;
  readonly seed: number;
  readonly port: number;
  /** Base URL of an OTLP/HTTP receiver. */
  readonly otlp: string | undefined;
  /** Path of a trace file. */
  readonly trace: string | undefined;
  /** In whose words the periodic stats log is. */
  readonly log: 'python' | 'rust' | 'off';
  /** Whether the engines' messages go through frames and ZeroMQ. */
  readonly wire: boolean;
  readonly serve: boolean;
  readonly progress: boolean;
}

/** What `--help` prints. */
export const HELP = `Usage: npm run demo -- [options]

Simulated vLLM engines serve a workload whose KV cache is too small for it; the instrumentation
turns what they send into vLLM's metrics, and the preemption histogram is read back from them.

  --engines N         engines, 1 to 64 (default 2)
  --kv-blocks N       blocks of 16 tokens in each engine's KV cache, at least 16
                      (default 1024; with --trace a quarter more than its longest request needs)
  --rate R            requests per simulated second (default 10)
  --duration SECONDS  simulated seconds during which requests arrive
                      (default 120; with --trace all of it)
  --time-scale X      simulated seconds per second (default: as many as fit the run into 4 seconds)
  --abort-share F     share of clients that lose patience, 0 to 1 (default 0.05)
  --seed N            seed of all that is random: the same seed gives the same numbers (default 1)
  --port N            port of the Prometheus endpoint, 0 for any free one (default 9464)
  --otlp URL          also export to this OTLP/HTTP receiver, http://localhost:4318 say
  --trace FILE        take the requests from an Azure LLM inference trace (CSV)
                      or a Mooncake trace (JSONL)
  --log STYLE         the stats log for every ten simulated seconds, as vLLM's frontends word it:
                      python, rust or off (default python)
  --wire              send what the engines say as vLLM does: in MessagePack frames, through ZeroMQ
  --serve             keep the endpoint up until Ctrl-C
  --no-progress       no progress bar (nor is there one off a terminal, or where CI is set)
  --help              print this`;

/**
 * Reads the command line.
 *
 * @param args Without the program's name.
 * @returns The options, or `help` where that is asked for.
 * @throws UsageError naming the option, what it may be, and what came.
 */
export function parseOptions(args: readonly string[]): DemoOptions | 'help' {
  const values = parseCommandLine(args, OPTIONS);
  if (values.help === true) return 'help';
  if (values.trace !== undefined && values.rate !== undefined) {
    throw new UsageError('--rate has no meaning with --trace, which says when requests arrive');
  }
  return {
    engines: numberOf('engines', values.engines, WHOLE, 1, 64) ?? 2,
    kvBlocks: numberOf('kv-blocks', values['kv-blocks'], WHOLE, 16, 1_000_000),
    rate: numberOf('rate', values.rate, ANY, 0.001, 10_000) ?? 10,
    duration: numberOf('duration', values.duration, ANY, 0.001, 1_000_000),
    timeScale: numberOf('time-scale', values['time-scale'], ANY, 0.001, 1_000_000),
    abortShare: numberOf('abort-share', values['abort-share'], ANY, 0, 1) ?? 0.05,
    seed: numberOf('seed', values.seed, WHOLE, 0, Number.MAX_SAFE_INTEGER) ?? 1,
    port: numberOf('port', values.port, WHOLE, 0, 65_535) ?? 9464,
    otlp: urlOf('otlp', values.otlp),
    trace: values.trace,
    log: logOf(values.log),
    wire: values.wire === true,
    serve: values.serve === true,
    progress: values['no-progress'] !== true,
  };
}

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const OPTIONS = {
  engines: TEXT,
  'kv-blocks': TEXT,
  rate: TEXT,
  duration: TEXT,
  'time-scale': TEXT,
  'abort-share': TEXT,
  seed: TEXT,
  port: TEXT,
  otlp: TEXT,
  trace: TEXT,
  log: TEXT,
  wire: FLAG,
  serve: FLAG,
  'no-progress': FLAG,
  help: FLAG,
} as const;

function urlOf(name: string, text: string | undefined): string | undefined {
  if (text !== undefined && !/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) {
    throw new UsageError(`--${name} must be an http or https URL, got ${JSON.stringify(text)}`);
  }
  return text;
}

function logOf(text: string | undefined): DemoOptions['log'] {
  const style = text ?? 'python';
  if (style === 'python' || style === 'rust' || style === 'off') return style;
  throw new UsageError(`--log must be python, rust or off, got ${JSON.stringify(text)}`);
}
