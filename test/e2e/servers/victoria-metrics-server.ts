import { join } from 'node:path';
import { PromQlClient } from './promql-client.ts';
import { ServerProcess } from './server-process.ts';

/** A single-node VictoriaMetrics of Debian's package. */
export class VictoriaMetricsServer extends PromQlClient {
  readonly #process: ServerProcess;

  private constructor(process: ServerProcess) {
    super(process.url);
    this.#process = process;
  }

  /** @param flags Beside those for folder, address and log. */
  static async start(...flags: readonly string[]): Promise<VictoriaMetricsServer> {
    const server = await ServerProcess.start({
      name: 'victoria-metrics',
      prepare: (folder) => [
        `-storageDataPath=${join(folder, 'data')}`,
        '-httpListenAddr=127.0.0.1:0',
        '-loggerFormat=json',
        '-memory.allowedBytes=256MiB',
        ...flags,
      ],
      address: /started server at http:\/\/([^/]+)\//,
      readyPath: '/health',
    });
    return new VictoriaMetricsServer(server);
  }

  /** Where it takes OTLP metrics, in protobuf. */
  get otlpUrl(): string {
    return `${this.#process.url}/opentelemetry/v1/metrics`;
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#process.log;
  }

  /** Makes all that has arrived visible to queries. */
  async flush(): Promise<void> {
    await fetch(`${this.#process.url}/internal/force_flush`);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
