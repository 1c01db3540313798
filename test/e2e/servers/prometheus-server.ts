import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PromQlClient } from './promql-client.ts';
import { ServerProcess } from './server-process.ts';

/** What a {@link PrometheusServer} scrapes. */
export interface ScrapeTarget {
  /** Host and port. */
  readonly address: string;
  /** The time between two scrapes, which is how long one may take as well. */
  readonly intervalMillis: number;
  /** Labels of all its series, in place of an `instance` that names the address. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A Prometheus server of Debian's package, which keeps exemplars. */
export class PrometheusServer extends PromQlClient {
  readonly #process: ServerProcess;

  private constructor(process: ServerProcess) {
    super(process.url);
    this.#process = process;
  }

  /** Starts a server that scrapes one target as the job `vllm`. */
  static async start({ address, intervalMillis, labels = {} }: ScrapeTarget): Promise<PrometheusServer> {
    const interval = `${intervalMillis}ms`;
    const config = {
      global: { scrape_interval: interval, scrape_timeout: interval },
      scrape_configs: [{ job_name: 'vllm', static_configs: [{ targets: [address], labels }] }],
      // `up` has the time of the scrape; without this, samples with a time of their own more than an hour before it
      // are refused.
      storage: { tsdb: { out_of_order_time_window: '30d' } },
    };
    const server = await ServerProcess.start({
      name: 'prometheus',
      prepare(folder) {
        // JSON is YAML.
        writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
        return [
          `--config.file=${join(folder, 'prometheus.yml')}`,
          `--storage.tsdb.path=${join(folder, 'data')}`,
          '--enable-feature=exemplar-storage',
          '--web.listen-address=127.0.0.1:0',
          '--log.format=json',
        ];
      },
      address: /"address":"([^"]+)".*"msg":"Listening on"/,
      readyPath: '/-/ready',
    });
    return new PrometheusServer(server);
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#process.log;
  }

  /** The metadata that the scrape's TYPE and HELP lines gave for a metric. */
  async metadata(metric: string): Promise<readonly { type: string; help: string }[]> {
    const url = `${this.#process.url}/api/v1/targets/metadata?metric=${encodeURIComponent(metric)}`;
    const { data } = (await (await fetch(url)).json()) as { data: { type: string; help: string }[] };
    return data;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
