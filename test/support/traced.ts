import assert from 'node:assert/strict';
import type { Tracer } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
  type TracerProviderOptions,
} from '@opentelemetry/sdk-trace';

/** A tracer provider that keeps what ended, in memory. */
export class Traced {
  readonly provider: TracerProvider;
  readonly #exporter = new InMemorySpanExporter();

  constructor(options: TracerProviderOptions = {}) {
    const spanProcessors = [
      ...(options.spanProcessors ?? []),
      new SimpleSpanProcessor({ exporter: this.#exporter }),
    ];
    this.provider = new TracerProvider({ ...options, spanProcessors });
  }

  /** A tracer for spans of the application. */
  get tracer(): Tracer {
    return this.provider.getTracer('application');
  }

  /** The spans that ended, in that order. */
  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** The one span that ended. */
  get span(): ReadableSpan {
    assert.equal(this.spans.length, 1, 'spans that ended');
    return this.spans[0]!;
  }
}
