import { ROOT_CONTEXT } from '@opentelemetry/api';
import { HistogramRun } from '../metrics/histogram-run.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { EngineRequest } from '../request/engine-request.ts';
import { finishReasonOf } from '../request/finish-reason.ts';
import { requestEventOf } from '../request/request-event.ts';
import type { RequestHost } from '../request/request-host.ts';
import { isTime, isTokenCount } from '../request/request-options.ts';
import { trackRequest } from '../request/start-request.ts';
import type { EngineCoreEvent, EngineCoreOutput, EngineCoreOutputs } from './messages.ts';
import { RequestOrder } from './request-order.ts';

/** Bounds what outputs with made-up ids can cost: far more requests than an engine runs and queues. */
const MAX_TRACKED = 65_536;

/** Hands the outputs of one engine's messages to its requests. A part that can't be read costs no other its sample. */
export class OutputsRecorder {
  readonly #host: RequestHost;
  readonly #iterationTokens: HistogramSeries;
  readonly #tracksUnknown: boolean;
  readonly #order = new RequestOrder();
  // All requests of a step that got a token in the one before have the same latency.
  readonly #latencies: HistogramRun;
  /** Tokens that the counter has not been given yet. */
  #generatedTokens = 0;
  /** All tokens of the batch: those generated, and those of prompts that were computed. */
  #batchTokens = 0;

  /** @param tracksUnknown - Whether an output of an id that is not known starts a request. */
  constructor(host: RequestHost, iterationTokens: HistogramSeries, tracksUnknown: boolean) {
    this.#host = host;
    this.#iterationTokens = iterationTokens;
    this.#tracksUnknown = tracksUnknown;
    this.#latencies = new HistogramRun(host.series.interTokenLatency);
  }

  /** @param receivedAt - Wall clock, checked. */
  record(message: EngineCoreOutputs, receivedAt: number): void {
    const outputs = this.#list(message.outputs, 'the outputs of a message');
    if (outputs.length > 0) this.#recordBatch(outputs, this.#timeOf(message), receivedAt);
    const finished = message.finished_requests;
    if (finished !== undefined && finished !== null) this.#endFinished(finished, receivedAt);
  }

  /** One sample of iteration tokens for a batch that holds any output. */
  #recordBatch(outputs: readonly EngineCoreOutput[], timestamp: number, receivedAt: number): void {
    const { live, drops } = this.#host;
    this.#host.outputsObserved = true;
    // A span processor may well give us another message while this one ends a request.
    const outerTokens = this.#batchTokens;
    this.#batchTokens = 0;
    // One that becomes an orphan in this batch needs no word of it.
    const hasOrphans = live.orphans.size > 0;
    for (let position = 0; position < outputs.length; position += 1) {
      try {
        this.#recordOutput(outputs[position], timestamp, receivedAt, hasOrphans);
      } catch (error) {
        drops.count('malformedMessage', error);
      }
    }
    this.#order.turn();
    this.#settle();
    this.#iterationTokens.record(this.#batchTokens, ROOT_CONTEXT);
    this.#batchTokens = outerTokens;
  }

  /** Records what has been gathered. */
  #settle(): void {
    this.#latencies.flush();
    this.#host.series.generationTokens.add(this.#generatedTokens);
    this.#generatedTokens = 0;
  }

  #recordOutput(
    output: EngineCoreOutput | undefined,
    timestamp: number,
    receivedAt: number,
    hasOrphans: boolean,
  ): void {
    const request = this.#order.find(output?.request_id) ?? this.#lookUp(output, receivedAt);
    if (output === undefined || request === undefined) return;
    this.#order.add(request);
    if (hasOrphans) this.#host.live.orphans.touch(request);
    try {
      const tokens = this.#tokenCount(output.new_token_ids);
      request.countTokens(tokens);
      this.#generatedTokens += tokens;
      this.#batchTokens += tokens;
      const { events, num_nans_in_logits: nans, prefill_stats: prefill } = output;
      if (events !== undefined && events !== null) this.#applyEvents(request, events);
      if (nans !== undefined && this.#nans(nans) > 0) request.noteCorruption();
      this.#batchTokens += request.applyTokens(
        tokens,
        timestamp,
        receivedAt,
        prefill ?? undefined,
        this.#latencies,
      );
    } catch (error) {
      // What can't be read of its last output does not keep a request in flight.
      this.#host.drops.count('malformedMessage', error);
    }
    const reason = output.finish_reason;
    if (reason !== undefined && reason !== null) this.#end(request, reason, receivedAt);
  }

  /** The request of an output, started now where nobody has; undefined where there is to be none. */
  #lookUp(output: EngineCoreOutput | undefined, receivedAt: number): EngineRequest | undefined {
    if (typeof output !== 'object' || output === null) {
      this.#host.drops.count('malformedMessage', output, 'an output');
      return undefined;
    }
    const { request_id: id } = output;
    return this.#host.live.get(id) ?? this.#unknown(id, output, receivedAt);
  }

  #unknown(id: string, output: EngineCoreOutput, receivedAt: number): EngineRequest | undefined {
    const { live, drops } = this.#host;
    if (typeof id !== 'string' || id === '') drops.count('malformedMessage', id, 'the id of an output');
    else if (live.endedLately(id)) drops.count('afterEnd', id, 'an output of request');
    else if (this.#tracksUnknown && live.size < MAX_TRACKED) {
      return trackRequest(this.#host, id, receivedAt, output.trace_headers);
    } else drops.count('unknownRequest', id);
    return undefined;
  }

  #applyEvents(request: EngineRequest, given: readonly EngineCoreEvent[]): void {
    const events = this.#list(given, 'the events of an output');
    for (let position = 0; position < events.length; position += 1) {
      const event = events[position];
      const kind = requestEventOf(event?.type ?? 0);
      if (kind === undefined) this.#host.drops.count('unknownEvent', event?.type);
      else request.applyEvent(kind, this.#engineTime(event?.timestamp));
    }
  }

  #end(request: EngineRequest, code: number, receivedAt: number): void {
    const reason = finishReasonOf(code);
    // A reason that is not known yet ended the request all the same.
    if (reason === undefined) this.#host.drops.count('unknownFinishReason', code);
    // Whoever learns of the end may read the series, or remove the engine.
    this.#settle();
    request.endByEngine(reason ?? 'stop', receivedAt);
  }

  /** A request that the engine let go without a last output had been aborted. */
  #endFinished(ids: Iterable<string>, receivedAt: number): void {
    this.#host.outputsObserved = true;
    try {
      if (typeof ids === 'string') throw new TypeError('finished_requests is a string');
      const { live } = this.#host;
      for (const id of ids) {
        // Where a request of this id ended before, it is that one that the engine let go: the client may have sent the
        // same id again since.
        if (live.forgetEnded(id)) continue;
        live.get(id)?.endByEngine('abort', receivedAt);
        // That was the engine's last word on it.
        live.forgetEnded(id);
      }
    } catch (error) {
      this.#host.drops.count('malformedMessage', error);
    }
  }

  /** The list; an empty one where there is none, or something else. */
  #list<T>(value: readonly T[] | null | undefined, what: string): readonly T[] {
    if (Array.isArray(value)) return value as readonly T[];
    if (value !== undefined && value !== null) this.#host.drops.count('malformedMessage', value, what);
    return NOTHING;
  }

  #tokenCount(tokens: EngineCoreOutput['new_token_ids']): number {
    if (tokens === undefined || tokens === null) return 0;
    if (isTokenCount(tokens.length)) return tokens.length;
    this.#host.drops.count('invalidValue', tokens.length, 'a number of new tokens');
    return 0;
  }

  #nans(count: number | null | undefined): number {
    if (count === undefined || count === null || count === 0) return 0;
    if (isTokenCount(count)) return count;
    this.#host.drops.count('invalidValue', count, 'num_nans_in_logits');
    return 0;
  }

  /** A message whose time can't be read still holds its outputs. */
  #timeOf(message: EngineCoreOutputs): number {
    try {
      return this.#engineTime(message.timestamp);
    } catch (error) {
      this.#host.drops.count('malformedMessage', error);
      return Number.NaN;
    }
  }

  /** NaN where a time is missing or can't be right. */
  #engineTime(timestamp: number | undefined): number {
    if (isTime(timestamp)) return timestamp;
    if (timestamp !== undefined) this.#host.drops.count('invalidValue', timestamp, 'an engine time');
    return Number.NaN;
  }
}

const NOTHING: readonly never[] = [];
