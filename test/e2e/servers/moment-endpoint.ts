import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a scrape is answered with. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

/** The moments of a run, one after the other. */
export interface Moments {
  /** Goes on to the next moment, and says what a scrape with these headers is told there; undefined after the last. */
  next(headers: IncomingHttpHeaders): Promise<Exposition | undefined>;
  /** Whether the server that scrapes has the moment it was told last. */
  arrived(): Promise<boolean>;
}

/**
 * Lets scrapes drive a run: each takes it to its next moment, as soon as the one before has arrived. A scrape that came to
 * nothing, on a slow machine say, costs nothing: the next gets the same answer.
 */
export class MomentEndpoint {
  readonly #moments: Moments;
  readonly #server: Server;
  /** Resolves when the last moment has arrived, and rejects with what went wrong on the way. */
  readonly over: Promise<void>;
  #current: Exposition | undefined;
  #turn: Promise<void> = Promise.resolve();

  private constructor(moments: Moments) {
    this.#moments = moments;
    this.#server = createServer();
    this.over = new Promise((resolve, reject) => {
      const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        if (await this.#advance(request.headers)) resolve();
        response.setHeader('content-type', this.#current?.contentType ?? '');
        response.end(this.#current?.body);
      };
      this.#server.on('request', (request, response) => {
        this.#turn = this.#turn.then(() => answer(request, response)).catch(reject);
      });
    });
  }

  static async listen(moments: Moments): Promise<MomentEndpoint> {
    const endpoint = new MomentEndpoint(moments);
    await once(endpoint.#server.listen(0, '127.0.0.1'), 'listening');
    return endpoint;
  }

  /** Host and port. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Returns whether there is no moment left. */
  async #advance(headers: IncomingHttpHeaders): Promise<boolean> {
    if (this.#current !== undefined && !(await this.#moments.arrived())) return false;
    const next = await this.#moments.next(headers);
    this.#current = next ?? this.#current;
    return next === undefined;
  }
}
