import { Pull, Router } from 'zeromq';
import { encodeRequest, type EngineCoreRequest } from './engine-core-request.ts';
import { identityOf } from './identity.ts';
import { decodeReadyResponse, type EngineCoreReadyResponse } from './ready-response.ts';

const ANY_PORT = 'tcp://127.0.0.1:*';

/** A frontend's two sockets: requests go out through one, to the engine that is named, and outputs come in by the other. */
export class EngineCoreSockets {
  // Tells where an engine is gone instead of losing the request. Without a limit, only that can make sending wait.
  readonly #router = new Router({ mandatory: true, sendHighWaterMark: 0, linger: 0 });
  readonly #pull = new Pull({ receiveHighWaterMark: 0 });
  #sent: Promise<void> = Promise.resolve();

  /** Binds both to free ports of the loopback interface. */
  static async bind(): Promise<EngineCoreSockets> {
    const sockets = new EngineCoreSockets();
    await sockets.#router.bind(ANY_PORT);
    await sockets.#pull.bind(ANY_PORT);
    return sockets;
  }

  /** Where engines connect their DEALER. */
  get input(): string {
    return this.#router.lastEndpoint ?? '';
  }

  /** Where engines connect their PUSH. */
  get output(): string {
    return this.#pull.lastEndpoint ?? '';
  }

  /** What the engines send, message by message, until the sockets are closed. */
  get outputs(): AsyncIterable<readonly Uint8Array[]> {
    return this.#pull;
  }

  /**
   * Waits for the first message of so many engines.
   *
   * @returns What they said, by engine index, in ascending order.
   */
  async ready(engines: number): Promise<ReadonlyMap<number, EngineCoreReadyResponse>> {
    const responses = new Map<number, EngineCoreReadyResponse>();
    while (responses.size < engines) {
      const [identity, frame] = await this.#router.receive();
      if (identity?.length !== 2 || frame === undefined) continue;
      responses.set(identity.readUInt16LE(), decodeReadyResponse(frame));
    }
    return new Map([...responses].toSorted(([one], [other]) => one - other));
  }

  /** Sends a request to an engine, after those before it: the socket takes one at a time. */
  send(engine: number, request: EngineCoreRequest): Promise<void> {
    const send = (): Promise<void> => this.#router.send([identityOf(engine), ...encodeRequest(request)]);
    const sent = this.#sent.then(send);
    this.#sent = sent.catch(() => {});
    return sent;
  }

  close(): void {
    this.#router.close();
    this.#pull.close();
  }
}
