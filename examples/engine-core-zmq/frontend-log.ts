import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import { RequestLog, type RequestRecord } from '../simulated-engine/request-log.ts';
import type { WorkloadRequest } from '../simulated-engine/workload.ts';

/**
 * What a frontend did, and when, in terms of the messages that it had received by then. With what the engines sent, by
 * their own account, this says what the metrics must be, whatever became of the frames between them.
 */
export class FrontendLog {
  readonly #starts: { readonly request: WorkloadRequest; readonly engine: number }[] = [];
  readonly #aborts: { readonly id: string; readonly engine: number; readonly received: number }[] = [];
  readonly #received = new Map<number, number>();

  start(request: WorkloadRequest, engine: number): void {
    this.#starts.push({ request, engine });
  }

  receive(engine: number): void {
    this.#received.set(engine, this.#receivedFrom(engine) + 1);
  }

  abort(id: string, engine: number): void {
    this.#aborts.push({ id, engine, received: this.#receivedFrom(engine) });
  }

  /**
   * Goes through it all again.
   *
   * @param sent What each engine sent.
   * @returns One record per request. Of times it knows nothing.
   */
  replay(sent: ReadonlyMap<number, readonly EngineCoreOutputs[]>): readonly RequestRecord[] {
    const log = new RequestLog();
    for (const { request, engine } of this.#starts) {
      log.begin(request, engine, { generatedTokens: 0, preemptions: 0 });
    }
    for (const [engine, messages] of sent) {
      const aborts = this.#aborts.filter((abort) => abort.engine === engine);
      for (let received = 0; received <= messages.length; received += 1) {
        for (const abort of aborts) if (abort.received === received) log.abort(abort.id, 0);
        const message = messages[received];
        if (message !== undefined) log.receive(message, 0);
      }
    }
    return log.records;
  }

  #receivedFrom(engine: number): number {
    return this.#received.get(engine) ?? 0;
  }
}
