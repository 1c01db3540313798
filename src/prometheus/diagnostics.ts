import { diag } from '@opentelemetry/api';

const PREFIX = 'opentelemetry-instrumentation-vllm/prometheus: ';

/** What the exporter has to say through `diag`. Never throws, whatever the logger does. */
export class Diagnostics {
  readonly #said = new Set<string>();

  /** Says a warning the first time its key comes up. There are few keys: at most one per metric and kind of problem. */
  warnOnce(key: string, message: string): void {
    if (this.#said.has(key)) return;
    this.#said.add(key);
    try {
      diag.warn(PREFIX + message);
    } catch {
      // A diag logger that throws must not cost the scrape.
    }
  }

  error(message: string): void {
    try {
      diag.error(PREFIX + message);
    } catch {
      // As above.
    }
  }
}
