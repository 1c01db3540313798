import { diag } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { messageOf } from '../metrics/message-of.ts';
import { overdue } from '../otlp/overdue.ts';
import { keepRoster, type Enlisted } from '../shutdown-roster.ts';
import type { StartedMetrics } from './start-metrics.ts';

/** The longest time that a flush or shutdown may take: less than the 10 s that most supervisors leave a process. */
const LIMIT_MILLIS = 5000;

/** What `/register` has started. None of its methods rejects or takes longer than {@link LIMIT_MILLIS}. */
export class Telemetry {
  readonly #metrics: StartedMetrics | undefined;
  readonly #traces: TracerProvider | undefined;
  readonly #instrumentations: ReadonlySet<Enlisted>;
  #shutdown: Promise<boolean> | undefined;

  constructor(metrics: StartedMetrics | undefined, traces: TracerProvider | undefined) {
    this.#metrics = metrics;
    this.#traces = traces;
    this.#instrumentations = metrics === undefined ? new Set() : keepRoster(metrics.provider);
  }

  /** Sends what there is. */
  async flush(): Promise<void> {
    await Promise.all([
      succeeds('flushing the metrics', this.#metrics?.provider.forceFlush()),
      succeeds('flushing the spans', this.#traces?.forceFlush()),
    ]);
  }

  /**
   * Ends the requests in flight as aborts, sends what there is, and shuts everything down; once.
   *
   * @returns Whether nothing is left under way.
   */
  shutdown(): Promise<boolean> {
    return (this.#shutdown ??= this.#shutDown());
  }

  async #shutDown(): Promise<boolean> {
    // Before the providers take their leave: this gives them the last samples and spans.
    for (const instrumentation of this.#instrumentations) instrumentation.disable();
    const ended = await Promise.all([
      this.#shutDownMetrics(),
      succeeds('sending the last spans', this.#traces?.shutdown()),
    ]);
    return ended.every(Boolean);
  }

  async #shutDownMetrics(): Promise<boolean> {
    const { provider, otlp } = this.#metrics ?? {};
    if (provider === undefined) return true;
    if (otlp === undefined) return succeeds('shutting the metrics down', provider.shutdown());
    const outcome = await otlp.flushAndShutdown(provider, { timeoutMillis: LIMIT_MILLIS });
    if (!outcome.delivered) warn(`the last metrics did not arrive: ${outcome.error.message}`);
    return outcome.delivered;
  }
}

async function succeeds(what: string, work: Promise<void> | undefined): Promise<boolean> {
  if (work === undefined) return true;
  try {
    const late = await overdue(work, LIMIT_MILLIS);
    if (late) warn(`${what} took longer than ${LIMIT_MILLIS} ms`);
    return !late;
  } catch (error) {
    warn(`${what} failed: ${messageOf(error)}`);
    return false;
  }
}

function warn(message: string): void {
  diag.warn(`opentelemetry-instrumentation-vllm/register: ${message}`);
}
