import { pace } from '../simulated-engine/pace.ts';
import { crossCheck } from './cross-check.ts';
import { parseExposition } from './exposition.ts';
import { Frontend } from './frontend.ts';
import { HELP, parseOptions } from './options.ts';
import { Progress, type Terminal } from './progress.ts';
import { formatOpening, formatReport, formatVerdict } from './report.ts';
import { createScenario, type Scenario } from './scenario.ts';
import { SimulatedStatsLog } from './simulated-stats-log.ts';
import { startTelemetry, type Telemetry } from './telemetry.ts';
import { UsageError } from './usage-error.ts';
import type { Wire } from './wire.ts';

/** The demo's surroundings. */
export interface Surroundings {
  /** Takes a line, or several, of the result. */
  print(text: string): void;
  /** Takes the line that says what was wrong with the command. */
  complain(text: string): void;
  /** Where the progress bar goes. Undefined for none. */
  readonly terminal: Terminal | undefined;
  /** Loads what `--wire` needs. Default: what is installed. */
  readonly loadWire?: () => Promise<{ readonly Wire: typeof Wire }>;
  /** Resolves when the user has seen enough of a demo that was told to go on serving. */
  interrupted(): Promise<void>;
}

/**
 * Runs the demo.
 *
 * @param args The command line, without the program's name.
 * @returns The exit code: 0 where all is well, 1 where the metrics are not what the simulator counted or could not
 *   be exported, 2 where the command line asks for something impossible.
 */
export async function runDemo(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    const options = parseOptions(args);
    if (options !== 'help') {
      const scenario = await createScenario(options);
      return await runScenario(scenario, await startTelemetry(options, scenario.maxModelLen), surroundings);
    }
    surroundings.print(HELP);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    surroundings.complain(error.message);
    return 2;
  }
}

async function runScenario(
  scenario: Scenario,
  telemetry: Telemetry,
  surroundings: Surroundings,
): Promise<number> {
  const { simulation, options } = scenario;
  const { print } = surroundings;
  let wire: Wire | undefined;
  try {
    if (options.wire) wire = await openWire(surroundings);
    print(`${formatOpening(scenario)}\n`);
    const progress = new Progress(options.progress ? surroundings.terminal : undefined);
    const printAbove = (line: string): void => {
      progress.clear();
      print(line);
    };
    const stats =
      options.log === 'off' ? undefined : new SimulatedStatsLog(telemetry.vllm, options.log, printAbove);
    await simulate(scenario, telemetry, wire, progress, stats);
    if (stats !== undefined) print('');

    const response = await fetch(telemetry.url);
    const samples = parseExposition(await response.text());
    const differences = crossCheck(samples, simulation.log.records);
    print(formatReport(samples, simulation.log));
    print(`\n${formatVerdict(differences, samples)}`);

    const failure = await telemetry.flush();
    if (failure !== undefined) print(`Could not export to ${options.otlp}: ${failure}`);
    else if (options.otlp !== undefined) print(`Exported to ${options.otlp}`);

    print(
      options.serve
        ? `Scrape ${telemetry.url} until Ctrl-C`
        : `Scraped ${telemetry.url}; --serve keeps it up`,
    );
    if (options.serve) await surroundings.interrupted();
    return differences.length === 0 && failure === undefined ? 0 : 1;
  } finally {
    wire?.close();
    await telemetry.shutdown();
  }
}

/** ZeroMQ is needed by those alone who ask for it. */
async function openWire({ loadWire = () => import('./wire.ts') }: Surroundings): Promise<Wire> {
  try {
    const { Wire } = await loadWire();
    return await Wire.open();
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    throw new UsageError(`--wire needs the packages zeromq and @msgpack/msgpack (${reason})`);
  }
}

async function simulate(
  scenario: Scenario,
  { vllm }: Telemetry,
  wire: Wire | undefined,
  progress: Progress,
  stats: SimulatedStatsLog | undefined,
): Promise<void> {
  const { simulation, requests, timeScale } = scenario;
  const { log, engines } = simulation;
  const frontend = new Frontend(vllm, Date.now() / 1000);
  for await (const event of pace(simulation, timeScale)) {
    const carried = wire !== undefined && event.kind === 'message';
    frontend.handle(carried ? { ...event, message: await wire.carry(event.message) } : event);
    stats?.advance(event.at);
    progress.update(() => ({
      done: (log.ended + log.rejected) / requests.length,
      simulatedSeconds: event.at,
      running: engines.reduce((sum, { load }) => sum + load.running, 0),
      waiting: engines.reduce((sum, { load }) => sum + load.waiting, 0),
      preempted: log.records.reduce((sum, { actual }) => sum + actual.preemptions, 0),
    }));
  }
  stats?.stop();
  progress.clear();
}
