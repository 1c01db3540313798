import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { respond } from './answer-scrape.ts';

/** Where a {@link MetricsServer} listens. */
export interface MetricsServerAddress {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** The exporter's own HTTP server: one path, and never a reason for the process to stay alive. */
export class MetricsServer {
  readonly #address: MetricsServerAddress;
  readonly #answer: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #onError: (error: Error) => void;
  #listening: Promise<Server> | undefined;
  #closed: Promise<void> = Promise.resolve();
  #port: number | undefined;

  /** @param onError - Gets what goes wrong once the server listens. */
  constructor(
    address: MetricsServerAddress,
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    onError: (error: Error) => void,
  ) {
    this.#address = address;
    this.#answer = answer;
    this.#onError = onError;
  }

  /** The port it listens on, `undefined` while it does not. */
  get port(): number | undefined {
    return this.#port;
  }

  /** The address to scrape, `undefined` while it does not listen. */
  get url(): string | undefined {
    if (this.#port === undefined) return undefined;
    const { host, path } = this.#address;
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.#port}${path}`;
  }

  /** Resolves when it listens. Starting it again is no second start, unless the first failed or was stopped. */
  async start(): Promise<void> {
    const listening = (this.#listening ??= this.#listen());
    try {
      await listening;
    } catch (error) {
      if (this.#listening === listening) this.#listening = undefined;
      throw error;
    }
  }

  /** Resolves when it is closed, connections that were kept alive included. */
  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    if (listening !== undefined) this.#closed = this.#close(listening);
    await this.#closed;
  }

  async #listen(): Promise<Server> {
    await this.#closed;
    const { host, port, path } = this.#address;
    const server = createServer((request, response) => {
      if (request.url?.split('?', 1)[0] === path) this.#answer(request, response);
      else respond(response, 404, {}, `metrics are at ${path}\n`, request.method === 'HEAD');
    });
    server.unref();
    // A connection that Prometheus keeps open would hold the process as the server itself would.
    server.on('connection', (socket) => socket.unref());
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // The context of this call would otherwise be that of every scrape, and be kept.
      context.with(ROOT_CONTEXT, () => server.listen(port, host, resolve));
    });
    server.on('error', this.#onError);
    const address = server.address();
    this.#port = typeof address === 'object' ? address?.port : undefined;
    return server;
  }

  async #close(listening: Promise<Server>): Promise<void> {
    try {
      const server = await listening;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    } catch {
      // It never listened; who started it knows.
    }
    this.#port = undefined;
  }
}
