import type { VllmInstrumentation, VllmRequest } from 'opentelemetry-instrumentation-vllm';
import type { SimulationEvent } from '../simulated-engine/simulation.ts';
import { countTokens } from '../simulated-engine/token-sequence.ts';

/**
 * The part that any service before vLLM engines has: it starts a request when one arrives, hands on each message
 * of an engine as it comes, and ends a request whose client has gone. All times are simulated ones, so the
 * latencies that are recorded are those of the simulated service, however fast the simulation runs.
 */
export class Frontend {
  readonly #vllm: VllmInstrumentation;
  readonly #epoch: number;
  readonly #requests = new Map<string, VllmRequest>();

  /**
   * @param vllm The instrumentation.
   * @param epoch Wall-clock seconds at the beginning of the simulation.
   */
  constructor(vllm: VllmInstrumentation, epoch: number) {
    this.#vllm = vllm;
    this.#epoch = epoch;
  }

  handle(event: SimulationEvent): void {
    const at = this.#epoch + event.at;
    if (event.kind === 'arrival') {
      const { id: requestId, prompt, maxTokens } = event.request;
      const request = { requestId, promptTokens: countTokens(prompt), maxTokens, arrivalTime: at };
      this.#requests.set(requestId, this.#vllm.engine(event.engine).startRequest(request));
    } else if (event.kind === 'message') {
      this.#vllm.observe(event.message, at);
      for (const id of event.message.finished_requests ?? []) this.#requests.delete(id);
    } else if (event.kind === 'abort') {
      this.#requests.get(event.id)?.end('abort', { receivedAt: at });
    }
  }
}
