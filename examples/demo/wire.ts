import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import { decodeEngineCoreOutputs } from 'opentelemetry-instrumentation-vllm/engine-core';
import { Pull, Push } from 'zeromq';
import { encodeEngineCoreOutputs } from '../engine-core-zmq/encode-engine-core-outputs.ts';

/** What lies between vLLM's engines and their frontend: frames, and a PUSH and a PULL socket over loopback. */
export class Wire {
  readonly #push = new Push();
  readonly #pull = new Pull();

  static async open(): Promise<Wire> {
    const wire = new Wire();
    await wire.#pull.bind('tcp://127.0.0.1:*');
    wire.#push.connect(wire.#pull.lastEndpoint ?? '');
    return wire;
  }

  /** Sends a message, one at a time, and returns what arrives. */
  async carry(message: EngineCoreOutputs): Promise<EngineCoreOutputs> {
    await this.#push.send(encodeEngineCoreOutputs(message));
    return decodeEngineCoreOutputs(await this.#pull.receive());
  }

  close(): void {
    this.#push.close();
    this.#pull.close();
  }
}
