import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';
import { EVENT, FINISH } from './engine-request.ts';
import type { RequestProgress } from './request-progress.ts';
import { countTokens } from './token-sequence.ts';
import type { WorkloadRequest } from './workload.ts';

/** How a request of a simulation ended. */
export type SimulatedFinishReason = 'stop' | 'length' | 'abort';

/** All that there is to know about one request. Times without another word are seconds since the simulation began. */
export interface RequestRecord {
  readonly id: string;
  /** Index of its engine. */
  readonly engine: number;
  readonly arrival: number;
  readonly promptTokens: number;
  readonly maxTokens: number | undefined;
  /** When its first token reached the frontend. */
  readonly firstReceivedAt: number | undefined;
  /** When the frontend learned of its end, or gave it up. */
  readonly endedAt: number | undefined;
  /** Undefined while it lives. */
  readonly finishReason: SimulatedFinishReason | undefined;
  /** What the engine's messages had told the frontend when the request ended. */
  readonly reported: Readonly<RequestProgress>;
  /**
   * What the scheduler did. For an aborted request this may be more than was reported: events travel with the
   * next output, which never came.
   */
  readonly actual: Readonly<RequestProgress>;
}

type Writable<T> = { -readonly [name in keyof T]: T[name] };
type MutableRecord = Writable<Omit<RequestRecord, 'reported'>> & { readonly reported: RequestProgress };

/**
 * What really happened, written down as it happens, by other means than any instrumentation: this is what
 * metrics can be compared with.
 */
export class RequestLog {
  readonly #records = new Map<string, MutableRecord>();
  readonly #live = new Map<string, MutableRecord>();
  #rejected = 0;

  /** Every request that went to an engine, in the order of arrival. */
  get records(): readonly RequestRecord[] {
    return [...this.#records.values()];
  }

  /** Requests that were turned away because they fit no engine. They have no record. */
  get rejected(): number {
    return this.#rejected;
  }

  /** How many of the records have ended. */
  get ended(): number {
    return this.#records.size - this.#live.size;
  }

  reject(): void {
    this.#rejected += 1;
  }

  begin(request: WorkloadRequest, engine: number, actual: Readonly<RequestProgress>): void {
    const record: MutableRecord = {
      id: request.id,
      engine,
      arrival: request.arrival,
      promptTokens: countTokens(request.prompt),
      maxTokens: request.maxTokens,
      firstReceivedAt: undefined,
      endedAt: undefined,
      finishReason: undefined,
      reported: { generatedTokens: 0, preemptions: 0 },
      actual,
    };
    this.#records.set(request.id, record);
    this.#live.set(request.id, record);
  }

  /** The record of a request that has not ended, as far as the frontend knows. */
  live(id: string): RequestRecord | undefined {
    return this.#live.get(id);
  }

  /** Takes in a message when it reaches the frontend. What it says about ended requests is ignored. */
  receive({ outputs = [], timestamp = 0 }: EngineCoreOutputs, at: number): void {
    for (const output of outputs) {
      const record = this.#live.get(output.request_id);
      if (record === undefined) continue;
      const { reported } = record;
      for (const event of output.events ?? []) {
        if (event.type === EVENT.queued) reported.queuedAt ??= event.timestamp;
        if (event.type === EVENT.scheduled) reported.scheduledAt ??= event.timestamp;
        if (event.type === EVENT.preempted) reported.preemptions += 1;
      }
      if (output.prefill_stats) reported.cachedTokens ??= output.prefill_stats.num_cached_tokens ?? 0;
      record.firstReceivedAt ??= at;
      reported.generatedTokens += output.new_token_ids?.length ?? 0;
      reported.firstTokenAt ??= timestamp;
      reported.lastTokenAt = timestamp;
      if (output.finish_reason === FINISH.stop) this.#end(record, 'stop', at);
      if (output.finish_reason === FINISH.length) this.#end(record, 'length', at);
    }
  }

  /** The frontend gives a request up. */
  abort(id: string, at: number): void {
    const record = this.#live.get(id);
    if (record !== undefined) this.#end(record, 'abort', at);
  }

  #end(record: MutableRecord, reason: SimulatedFinishReason, at: number): void {
    record.finishReason = reason;
    record.endedAt = at;
    this.#live.delete(record.id);
  }
}
