import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Whether tests against a real Prometheus can run; CI sets the variable and then they must. */
export const prometheusAvailable: boolean = isOnPath() || process.env['VLLM_TEST_REQUIRE_PROMETHEUS'] === '1';

function isOnPath(): boolean {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** One sample of an instant query. */
export interface QueryResult {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A Prometheus server of Debian's package, on a free port and a data folder of its own. */
export class PrometheusServer {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #url: string;

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#process = child;
    this.#folder = folder;
    this.#url = url;
  }

  /** Starts a server that scrapes `target` (host:port) every `intervalMillis`. */
  static async start(target: string, intervalMillis: number): Promise<PrometheusServer> {
    const folder = mkdtempSync(join(tmpdir(), 'vllm-prometheus-'));
    const interval = `${intervalMillis}ms`;
    const config = {
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      scrape_configs: [{ job_name: 'vllm', static_configs: [{ targets: [target] }] }],
    };
    // JSON is YAML.
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        '--web.listen-address=127.0.0.1:0',
        '--log.format=json',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    return new PrometheusServer(child, folder, await addressOf(child));
  }

  /** The result of an instant query, now. */
  async query(promql: string): Promise<readonly QueryResult[]> {
    const response = await fetch(`${this.#url}/api/v1/query?query=${encodeURIComponent(promql)}`);
    const body = (await response.json()) as {
      status: string;
      error?: string;
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    if (body.status !== 'success') throw new Error(`${promql}: ${body.error}`);
    return body.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  /** The metadata that the scrape's TYPE and HELP lines gave for a metric. */
  async metadata(metric: string): Promise<readonly { type: string; help: string }[]> {
    const response = await fetch(`${this.#url}/api/v1/targets/metadata?metric=${encodeURIComponent(metric)}`);
    return ((await response.json()) as { data: { type: string; help: string }[] }).data;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The server says in its log which port it got. */
async function addressOf(child: ChildProcess): Promise<string> {
  const lines: string[] = [];
  if (child.stderr === null) throw new Error('prometheus has no log');
  const log = createInterface({ input: child.stderr });
  for await (const line of log) {
    lines.push(line);
    const { msg, address } = JSON.parse(line) as { msg?: string; address?: string };
    if (msg === 'Listening on' && address !== undefined) {
      child.stderr.resume();
      return `http://${address}`;
    }
  }
  throw new Error(`prometheus did not start:\n${lines.join('\n')}`);
}
